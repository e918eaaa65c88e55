import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/**
 * Structured logs on stdout, one JSON object a line. Log ids, counts and states; never a body, a header or a
 * person. The redaction is a second net for what should not be there in the first place.
 */
export function createLogger(processName: string, level = 'info'): Logger {
  return pino({
    name: processName,
    level,
    base: { name: processName, pid: process.pid },
    redact: {
      paths: [
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
      ],
      remove: true,
    },
    serializers: { err: errorForLog },
  });
}

/** SQLSTATE: a digit is in each of them, which tells them from `EPIPE`. */
const DATABASE_CODE = /^(?=.*\d)[0-9A-Z]{5}$/;

/** Name, code and message, with the causes; no own members (a PostgreSQL error carries the row in `detail`). */
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

/** Some errors quote what they choked on: the database its values, the JSON parser its text. */
function messageForLog(error: Error, code: string | undefined): string {
  if (DATABASE_CODE.test(code ?? '')) return `database error ${code}`;
  return error instanceof SyntaxError ? 'text that cannot be read' : error.message;
}

/** A stack begins by repeating the message, which may have several lines; only where it was thrown is kept. */
const framesOf = (error: Error): string | undefined =>
  error.stack
    ?.replace(error.message, '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 7)
    .join('\n');
