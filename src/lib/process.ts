import { ConfigError, forgetVariables, readConfig } from '../config.ts';
import { createLogger, type Logger } from './logger.ts';
import type { Tracer } from './tracing/spans.ts';
import { startTracing } from './tracing/start-tracing.ts';

export interface RunningProcess {
  /**
   * Stops accepting work, finishes running work and closes connections. Called
   * once.
   */
  stop(): Promise<void>;
  /**
   * Settles when the process ends without a request to stop; a rejection is a
   * crash.
   */
  ended?: Promise<void>;
}

/**
 * Longer than any drain (a worker's grace time is 20 s), and shorter than a
 * container platform's usual limit (30 s).
 */
const STOP_TIMEOUT_MS = 28_000;

/**
 * Exit code after a start with a configuration or options that are not valid.
 */
export const EXIT_USAGE = 2;

/**
 * Runs an entry point: starts it, stops it on SIGTERM and SIGINT, and exits
 * with code 0 after a drain, 1 after a failure and 2 if its configuration is
 * not valid. A second signal exits at once. Configuration errors are printed as
 * plain lines; everything else is logged. After the start the environment no
 * longer contains our variables: `start` must read all that it needs.
 */
export async function runProcess(
  name: string,
  start: (logger: Logger) => Promise<RunningProcess>,
): Promise<void> {
  let logger = createLogger(name);
  let running: RunningProcess | undefined;
  let tracer: Tracer | undefined;
  let stopping = false;
  const stop = (reason: string) => {
    if (stopping) process.exit(1);
    stopping = true;
    // Still starting: there is no work to finish.
    if (running === undefined) process.exit(0);
    void stopAndExit(logger, running, tracer, reason);
  };
  process.on('unhandledRejection', (error) =>
    fail(logger, error, 'unhandled rejection'),
  );
  process.on('uncaughtException', (error) =>
    fail(logger, error, 'uncaught exception'),
  );
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  // Reports written during the start, where Node.js has this setting (22.13 and
  // newer).
  Object.assign(process.report, { excludeEnv: true });
  try {
    logger = createLogger(name, readConfig(['LOG_LEVEL']).LOG_LEVEL);
    tracer = await startTracing(name, logger);
    running = await start(logger);
    forgetVariables();
  } catch (error) {
    return fail(logger, error, 'could not start');
  }
  running.ended?.then(
    () => stopping || stop('ended by itself'),
    (error: unknown) => fail(logger, error, 'crashed'),
  );
}

async function stopAndExit(
  logger: Logger,
  running: RunningProcess,
  tracer: Tracer | undefined,
  reason: string,
): Promise<void> {
  logger.info({ reason }, 'stopping');
  const overdue = setTimeout(
    () => fail(logger, undefined, 'did not stop in time'),
    STOP_TIMEOUT_MS,
  );
  try {
    await running.stop();
    await tracer?.stop();
  } catch (error) {
    return fail(logger, error, 'did not stop cleanly');
  }
  clearTimeout(overdue);
  logger.info('stopped');
  process.exit(0);
}

function fail(logger: Logger, error: unknown, message: string): void {
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_USAGE);
  }
  logger.fatal({ err: error }, message);
  process.exit(1);
}
