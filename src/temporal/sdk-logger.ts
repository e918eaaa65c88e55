import {
  ApplicationFailure,
  type LogLevel,
  type LogMetadata,
  type Logger as SdkLogger,
} from '@temporalio/common';
import type { Logger } from '../lib/logger.ts';

const PINO_LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/** Ids, states, codes: one word. Anything that could be a sentence, and so a name, is left out. */
const TOKEN = /^[\w./:@+-]{1,200}$/;

/**
 * Sends the Temporal SDK's logs, and those of workflows and activities, through ours. Nothing passes but single
 * words, numbers and flags: the SDK logs thrown errors with message and stack, and a message may quote what it
 * choked on (`JSON.parse` does). The full failure stands in the workflow's history, encrypted, for those who may
 * read it.
 */
export function createSdkLogger(logger: Logger): SdkLogger {
  const log = (level: LogLevel, message: string, meta: LogMetadata = {}) =>
    logger[isHousekeeping(level, message) ? 'debug' : PINO_LEVELS[level]](
      safeMetadata(meta),
      safeMessage(message),
    );
  return {
    log,
    trace: (message, meta) => log('TRACE', message, meta),
    debug: (message, meta) => log('DEBUG', message, meta),
    info: (message, meta) => log('INFO', message, meta),
    warn: (message, meta) => log('WARN', message, meta),
    error: (message, meta) => log('ERROR', message, meta),
  };
}

/** Each worker tells its states one by one, and that it hosts only workflows or only activities, which is meant. */
const isHousekeeping = (level: LogLevel, message: string): boolean =>
  (level === 'INFO' && message === 'Worker state changed') ||
  /^No (Nexus services|workflows|activities) registered/.test(message);

/** The SDK appends an error's text to some messages ("Error while processing ActivityTask.start: …"). */
const safeMessage = (message: string): string =>
  /^(Error|Failed)\b/.test(message) ? (message.split(':', 1)[0] ?? message) : message;

function safeMetadata(meta: LogMetadata): Record<string, unknown> {
  const safe: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(meta)) {
    if (value instanceof Error) safe.failure = describeFailure(value);
    else if (typeof value === 'number' || typeof value === 'boolean') safe[key] = value;
    else if (typeof value === 'string' && TOKEN.test(value)) safe[key] = value;
  }
  return safe;
}

/** Class, type, code, and where it was thrown; no message. */
function describeFailure(error: Error): Record<string, unknown> {
  const type = error instanceof ApplicationFailure ? error.type : undefined;
  const code = 'code' in error ? error.code : undefined;
  return {
    name: TOKEN.test(error.name) ? error.name : 'Error',
    ...(typeof type === 'string' && TOKEN.test(type) ? { type } : {}),
    ...(typeof code === 'string' && TOKEN.test(code) ? { code } : {}),
    stack: framesOf(error),
    ...(error.cause instanceof Error ? { cause: describeFailure(error.cause) } : {}),
  };
}

/** A stack begins by repeating the message, however many lines it has and whatever they look like. */
function framesOf(error: Error): string | undefined {
  return error.stack
    ?.replace(error.message, '')
    .split('\n')
    .filter((line) => /^\s+at \S.*:\d+:\d+\)?$/.test(line))
    .slice(0, 8)
    .join('\n');
}
