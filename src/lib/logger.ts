import { type Logger, pino } from 'pino';
import { currentSpan } from './tracing/spans.ts';

export type { Logger } from 'pino';

/** Members that no line contains. */
const REDACTED = [
  'body',
  'headers',
  'req.headers',
  'req.body',
  'patient',
  'demographics',
  '*.firstName',
  '*.lastName',
  '*.dob',
  '*.address',
  '*.contact',
  '*.personalIdentifiers',
  '*.additionalIdentifiers',
  '*.additionalIds',
];

/**
 * Writes structured logs to stdout, one JSON object per line. Log ids, counts
 * and states; never bodies, headers or personal data. The redaction is only a
 * safety net.
 */
export const createLogger = (processName: string, level = 'info'): Logger =>
  pino({
    name: processName,
    level,
    base: { name: processName, pid: process.pid },
    redact: { paths: REDACTED, remove: true },
    serializers: { err: errorForLog },
    mixin: traceOfLine,
  });

/** Where a line belongs, while traces are on. */
function traceOfLine(): { traceId?: string; spanId?: string } {
  const span = currentSpan();
  return span === undefined
    ? {}
    : { traceId: span.traceId, spanId: span.spanId };
}

/**
 * An SQLSTATE. Each of them contains a digit, unlike system codes such as
 * `EPIPE`.
 */
const DATABASE_CODE = /^(?=.*\d)[0-9A-Z]{5}$/;

/**
 * Logs name, code and message of an error and its causes, and no other members:
 * PostgreSQL puts rows into `detail`.
 */
function errorForLog(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const code = 'code' in error ? String(error.code) : undefined;
  return {
    type: error.name,
    code,
    message: messageForLog(error, code),
    stack: framesOf(error),
    cause: error.cause === undefined ? undefined : errorForLog(error.cause),
  };
}

/**
 * Replaces messages that quote the input: those of the database contain values,
 * those of the JSON parser its text.
 */
function messageForLog(error: Error, code: string | undefined): string {
  if (DATABASE_CODE.test(code ?? '')) return `database error ${code}`;
  return error instanceof SyntaxError
    ? 'text that cannot be parsed'
    : error.message;
}

/** Keeps only the frames of a stack, because it begins with the message. */
const framesOf = (error: Error): string | undefined =>
  error.stack
    ?.replace(error.message, '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 7)
    .join('\n');
