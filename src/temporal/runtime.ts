import {
  ApplicationFailure,
  type LogLevel,
  type LogMetadata,
  type Logger as SdkLogger,
} from '@temporalio/common';
import { Runtime } from '@temporalio/worker';
import type { Logger } from '../lib/logger.ts';

/**
 * Configures the SDK's runtime. Call it once in each process that runs workers,
 * before using the SDK. All logs, including those of the native core, go to our
 * logger. The SDK handles `shutdownSignals`: none in our processes, whose own
 * shutdown also closes resources that it does not know. With `metricsAddress`
 * (host:port), the SDK serves its metrics there (slots, pollers, latencies).
 */
export const installTemporalRuntime = (
  logger: Logger,
  metricsAddress?: string,
  shutdownSignals: NodeJS.Signals[] = [],
): Runtime =>
  Runtime.install({
    logger: createSdkLogger(logger.child({ component: 'temporal' })),
    shutdownSignals,
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      ...(metricsAddress === undefined
        ? {}
        : { metrics: prometheusAt(metricsAddress) }),
    },
  });

const prometheusAt = (bindAddress: string) => ({
  prometheus: {
    bindAddress,
    useSecondsForDurations: true,
    unitSuffix: true,
    countersTotalSuffix: true,
  },
});

const PINO_LEVELS = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const;

/**
 * Matches single words, such as ids, states and codes. Sentences may contain
 * names, so they do not match.
 */
const TOKEN = /^[\w./:@+-]{1,200}$/;

/**
 * Forwards the logs of the Temporal SDK, workflows and activities to our
 * logger. Keeps only single words, numbers and booleans of the metadata: the
 * SDK logs errors with message and stack, and messages may quote input
 * (`JSON.parse` does). The full failure is in the workflow's history,
 * encrypted.
 */
export function createSdkLogger(logger: Logger): SdkLogger {
  const log = (level: LogLevel, message: string, meta: LogMetadata = {}) => {
    const as = isHousekeeping(level, message) ? 'debug' : PINO_LEVELS[level];
    if (logger.isLevelEnabled(as))
      logger[as](safeMetadata(meta), safeMessage(message));
  };
  return {
    log,
    trace: (message, meta) => log('TRACE', message, meta),
    debug: (message, meta) => log('DEBUG', message, meta),
    info: (message, meta) => log('INFO', message, meta),
    warn: (message, meta) => log('WARN', message, meta),
    error: (message, meta) => log('ERROR', message, meta),
  };
}

/**
 * Each worker logs its state changes, and a warning when it hosts only
 * workflows or only activities, which is intended.
 */
const isHousekeeping = (level: LogLevel, message: string): boolean =>
  (level === 'INFO' && message === 'Worker state changed') ||
  /^No (Nexus services|workflows|activities) registered/.test(message);

/**
 * The SDK appends an error's text to some messages ("Error while processing
 * ActivityTask.start: …").
 */
const safeMessage = (message: string): string =>
  /^(Error|Failed)\b/.test(message)
    ? (message.split(':', 1)[0] ?? message)
    : message;

function safeMetadata(meta: LogMetadata): Record<string, unknown> {
  const safe: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(meta)) {
    if (value instanceof Error) safe.failure = describeFailure(value);
    else if (typeof value === 'number' || typeof value === 'boolean')
      safe[key] = value;
    else if (typeof value === 'string' && TOKEN.test(value)) safe[key] = value;
  }
  return safe;
}

/**
 * Returns class, type, code and stack frames of an error, without its message.
 */
function describeFailure(error: Error): Record<string, unknown> {
  const type = error instanceof ApplicationFailure ? error.type : undefined;
  const code = 'code' in error ? error.code : undefined;
  return {
    name: TOKEN.test(error.name) ? error.name : 'Error',
    ...(typeof type === 'string' && TOKEN.test(type) ? { type } : {}),
    ...(typeof code === 'string' && TOKEN.test(code) ? { code } : {}),
    stack: framesOf(error),
    ...(error.cause instanceof Error
      ? { cause: describeFailure(error.cause) }
      : {}),
  };
}

/**
 * Keeps only the frames of a stack, because it begins with the message, which
 * may have any number of lines.
 */
const framesOf = (error: Error): string | undefined =>
  error.stack
    ?.replace(error.message, '')
    .split('\n')
    .filter((line) => /^\s+at \S.*:\d+:\d+\)?$/.test(line))
    .slice(0, 8)
    .join('\n');
