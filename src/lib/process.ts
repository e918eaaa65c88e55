import { ConfigError, readConfig } from '../config.ts';
import { createLogger, type Logger } from './logger.ts';

export interface RunningProcess {
  /** Takes no new work, finishes what is in hand, closes connections. Called once. */
  stop(): Promise<void>;
  /** Settles when the process ends without having been asked; a rejection is a crash. */
  ended?: Promise<void>;
}

/** Longer than any drain inside (a worker's grace time is 20 s), shorter than an orchestrator's patience (30 s). */
const STOP_TIMEOUT_MS = 28_000;

/**
 * The frame of an entry point: starts it, stops it on SIGTERM and SIGINT, and ends with exit code 0 after a drain
 * and 1 after a failure. A second signal ends at once. Faults of the configuration are printed as plain lines for
 * the person who mends them; everything else goes to the log.
 */
export async function runProcess(
  name: string,
  start: (logger: Logger) => Promise<RunningProcess>,
): Promise<void> {
  let logger = createLogger(name);
  let running: RunningProcess | undefined;
  let stopping = false;
  const stop = (reason: string) => {
    if (stopping) process.exit(1);
    stopping = true;
    // Still starting: nothing has been promised to anyone yet.
    if (running === undefined) process.exit(0);
    void stopAndExit(logger, running, reason);
  };
  process.on('unhandledRejection', (error) => fail(logger, error, 'unhandled rejection'));
  process.on('uncaughtException', (error) => fail(logger, error, 'uncaught exception'));
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  try {
    logger = createLogger(name, readConfig(['LOG_LEVEL']).LOG_LEVEL);
    running = await start(logger);
  } catch (error) {
    return fail(logger, error, 'could not start');
  }
  running.ended?.then(
    () => stopping || stop('ended by itself'),
    (error: unknown) => fail(logger, error, 'crashed'),
  );
}

async function stopAndExit(logger: Logger, running: RunningProcess, reason: string): Promise<void> {
  logger.info({ reason }, 'stopping');
  const overdue = setTimeout(() => fail(logger, undefined, 'did not stop in time'), STOP_TIMEOUT_MS);
  try {
    await running.stop();
  } catch (error) {
    return fail(logger, error, 'did not stop cleanly');
  }
  clearTimeout(overdue);
  logger.info('stopped');
  process.exit(0);
}

function fail(logger: Logger, error: unknown, message: string): void {
  if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
  else logger.fatal({ err: error }, message);
  process.exit(1);
}
