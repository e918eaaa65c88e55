import type { FastifyError } from 'fastify';
import { ERROR_NAMES, type ErrorBody, type ErrorStatus } from '../../../contract/errors.ts';
import { ExchangeError } from '../errors.ts';

export const PROBLEM_JSON = 'application/problem+json; charset=utf-8';

export const ERROR_TITLES: Record<ErrorStatus, string> = {
  400: 'Missing or invalid parameters',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition failed',
  413: 'Payload too large',
  415: 'Unsupported media type',
  422: 'Unprocessable content',
  423: 'Locked',
  429: 'Too many requests',
  431: 'Request header fields too large',
  500: 'Internal server error',
  503: 'Service unavailable',
};

export interface ErrorAnswer {
  status: ErrorStatus;
  body: ErrorBody;
  headers: Readonly<Record<string, string>>;
  /** Our fault, so that somebody must look: the caller gets no details, the log gets the error. */
  isFault: boolean;
}

/** The only place that turns what was thrown into what a caller sees (interface-decisions.md, Error body). */
export function errorAnswer(thrown: unknown, requestId: string): ErrorAnswer {
  if (thrown instanceof ExchangeError) {
    return answer(thrown.status, thrown.message, requestId, thrown.options);
  }
  const known = refusals[codeOf(thrown) ?? ''];
  if (known !== undefined) return answer(known.status, known.detail, requestId);
  const status = refusedByFastify(thrown);
  if (status !== undefined) return answer(status, 'The request cannot be read', requestId);
  if (isConnectionFault(thrown)) {
    const detail = 'The database cannot be reached now; try again shortly';
    return { ...answer(503, detail, requestId, { headers: { 'retry-after': '2' } }), isFault: true };
  }
  const detail = 'Something failed on our side; the request id leads the operators to it';
  return { ...answer(500, detail, requestId), isFault: true };
}

function answer(
  status: ErrorStatus,
  detail: string,
  requestId: string,
  extra: ExchangeError['options'] = {},
): ErrorAnswer {
  const body: ErrorBody = {
    ...extra.members,
    type: 'about:blank',
    status,
    name: ERROR_NAMES[status],
    title: ERROR_TITLES[status],
    detail,
    instance: `urn:uuid:${requestId}`,
    ...(extra.errors === undefined ? {} : { errors: extra.errors.map((error) => ({ ...error })) }),
  };
  return { status, body, headers: extra.headers ?? {}, isFault: false };
}

const UNREADABLE_DATE = { status: 400, detail: 'A date or time of the request is out of range' } as const;
const NUL_CHARACTER = { status: 400, detail: 'A text of the request contains the character NUL' } as const;

/** What Fastify itself refuses before a handler runs, and what the database refuses of a caller's texts. */
const refusals: Readonly<Record<string, { status: ErrorStatus; detail: string } | undefined>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: { status: 400, detail: 'The body is not valid JSON' },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    status: 400,
    detail: 'The body is not as long as Content-Length says',
  },
  FST_ERR_CTP_BODY_TOO_LARGE: { status: 413, detail: 'The body is larger than this operation accepts' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { status: 415, detail: 'The body must be application/json' },
  FST_ERR_BAD_URL: { status: 400, detail: 'The address is not a valid URL' },
  FST_ERR_MAX_PARAM_LENGTH: { status: 400, detail: 'A part of the address is too long' },
  '22007': UNREADABLE_DATE,
  '22008': UNREADABLE_DATE,
  '22021': NUL_CHARACTER,
  '22P05': NUL_CHARACTER,
};

/** What of a request it cannot read, and nobody has thought of above. */
function refusedByFastify(thrown: unknown): ErrorStatus | undefined {
  const { statusCode = 500 } = (thrown ?? {}) as Partial<FastifyError>;
  if (!codeOf(thrown)?.startsWith('FST_') || statusCode >= 500) return undefined;
  return statusCode in ERROR_NAMES ? (statusCode as ErrorStatus) : 400;
}

function codeOf(thrown: unknown): string | undefined {
  const code = (thrown as Partial<FastifyError> | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** No connection, or one that was cut (PostgreSQL classes 08 and 57P, and the sockets' own codes). */
export function isConnectionFault(thrown: unknown): boolean {
  const code = codeOf(thrown) ?? '';
  if (/^(08|57P0)/.test(code) || /^(ECONNREFUSED|ECONNRESET|EPIPE|ENOTFOUND|ETIMEDOUT)$/.test(code))
    return true;
  return (
    thrown instanceof Error &&
    /^(Connection terminated|timeout exceeded when trying to connect)/.test(thrown.message)
  );
}
