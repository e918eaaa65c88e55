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

/** Name, code and message, with the causes; no own members (a PostgreSQL error carries the row in `detail`). */
function errorForLog(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const code = 'code' in error ? String(error.code) : undefined;
  const message = /^[0-9A-Z]{5}$/.test(code ?? '') ? `database error ${code}` : error.message;
  return {
    type: error.name,
    code,
    message,
    stack: error.stack?.split('\n').slice(1, 8).join('\n'),
    cause: error.cause === undefined ? undefined : errorForLog(error.cause),
  };
}
