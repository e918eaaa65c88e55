import type { FastifyError } from 'fastify';
import {
  codesOfStatus,
  ERROR_NAMES,
  type ErrorBody,
  type ErrorCode,
  type ErrorStatus,
  errorPagePath,
} from '../../../contract/errors.ts';
import { lookupTable } from '../../../lib/lookup-table.ts';
import { BlobStoreUnavailableError } from '../../../shared/blobs/blob-store.ts';
import { isConnectionFault } from '../database/postgres-errors.ts';
import { ExchangeError } from '../errors.ts';

export const PROBLEM_JSON = 'application/problem+json; charset=utf-8';

/** `Not found`, from the name `NOT_FOUND`. */
export const errorTitle = (status: ErrorStatus): string => {
  if (status === 400) return 'Missing or invalid parameters';
  const [first = '', ...others] = ERROR_NAMES[status].replaceAll('_', ' ');
  return first + others.join('').toLowerCase();
};

export interface ErrorResponse {
  status: ErrorStatus;
  /** Its `type` is a path of this gateway (`withAddress`). */
  body: ErrorBody;
  headers: Readonly<Record<string, string>>;
  /**
   * True for an internal error: it is logged in full, and the caller gets no
   * details.
   */
  isFault: boolean;
}

/**
 * Converts any thrown error to the response that the caller gets
 * (docs/interface.md, Errors). The only place that does.
 */
export function toErrorResponse(
  thrown: unknown,
  requestId: string,
): ErrorResponse {
  if (thrown instanceof ExchangeError) {
    return problem(thrown.status, thrown.message, requestId, thrown.options);
  }
  const known = KNOWN_CODES[thrownCode(thrown) ?? ''];
  if (known !== undefined)
    return problem(known.status, known.detail, requestId, known);
  const status = statusFromFastify(thrown);
  if (status !== undefined)
    return problem(status, 'The request cannot be read', requestId, {
      code: status === 400 ? 'unreadable-request' : undefined,
    });
  const outage = outageOf(thrown);
  if (outage !== undefined) {
    const { detail, code, retryAfter } = outage;
    return {
      ...problem(503, detail, requestId, {
        code,
        headers: { 'retry-after': retryAfter },
      }),
      isFault: true,
    };
  }
  const detail =
    'An internal error occurred; to report it, quote the id in `instance`';
  return { ...problem(500, detail, requestId), isFault: true };
}

/** The body as it is sent: its `type` is an address that can be opened. */
export const withAddress = (
  body: ErrorBody,
  publicBaseUrl: string,
): ErrorBody => ({ ...body, type: publicBaseUrl + body.type });

/** Which part is away, if the error means that. */
function outageOf(
  thrown: unknown,
): { detail: string; code: ErrorCode; retryAfter: string } | undefined {
  if (thrown instanceof BlobStoreUnavailableError)
    return {
      detail:
        'The store of files is temporarily unavailable; try again shortly',
      code: 'file-store-unavailable',
      retryAfter: '5',
    };
  if (/^E[MN]FILE$/.test(thrownCode(thrown) ?? ''))
    return {
      detail:
        'This gateway has as many connections and files open as it may; try again shortly',
      code: 'overloaded',
      retryAfter: '5',
    };
  if (isConnectionFault(thrown))
    return {
      detail: 'The database is temporarily unavailable; try again shortly',
      code: 'database-unavailable',
      retryAfter: '2',
    };
  return undefined;
}

function problem(
  status: ErrorStatus,
  detail: string,
  requestId: string,
  extra: ExchangeError['options'] = {},
): ErrorResponse {
  // Every status has a general code.
  const code = extra.code ?? codesOfStatus(status)[0] ?? 'internal-error';
  const body: ErrorBody = {
    ...extra.members,
    type: errorPagePath(code),
    code,
    status,
    name: ERROR_NAMES[status],
    title: errorTitle(status),
    detail,
    instance: `urn:uuid:${requestId}`,
    ...(extra.errors === undefined
      ? {}
      : { errors: extra.errors.map((error) => ({ ...error })) }),
  };
  return { status, body, headers: extra.headers ?? {}, isFault: false };
}

const INVALID_DATE = {
  status: 400,
  detail: 'A date or time in the request is out of range',
} as const;
const NUL_CHARACTER = {
  status: 400,
  detail: 'A text in the request contains a NUL character',
} as const;

/**
 * Client errors by code: of Fastify, and of PostgreSQL for values that it
 * rejects.
 */
const KNOWN_CODES: Readonly<
  Record<
    string,
    { status: ErrorStatus; detail: string; code?: ErrorCode } | undefined
  >
> = lookupTable({
  FST_ERR_CTP_INVALID_JSON_BODY: {
    status: 400,
    detail: 'The body is not valid JSON',
    code: 'unreadable-request',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    status: 400,
    detail: 'The length of the body does not match Content-Length',
    code: 'unreadable-request',
  },
  FST_ERR_CTP_BODY_TOO_LARGE: {
    status: 413,
    detail: 'The body is larger than this operation allows',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    detail: 'Content-Type must be application/json',
  },
  FST_ERR_BAD_URL: {
    status: 400,
    detail: 'The URL is not valid',
    code: 'unreadable-request',
  },
  FST_ERR_MAX_PARAM_LENGTH: {
    status: 400,
    detail: 'A path segment of the URL is too long',
  },
  '22007': INVALID_DATE,
  '22008': INVALID_DATE,
  '22021': NUL_CHARACTER,
  '22P05': NUL_CHARACTER,
});

/**
 * The status of any other client error that Fastify raises; undefined if the
 * error is none.
 */
function statusFromFastify(thrown: unknown): ErrorStatus | undefined {
  const { statusCode = 500 } = (thrown ?? {}) as Partial<FastifyError>;
  if (!thrownCode(thrown)?.startsWith('FST_') || statusCode >= 500)
    return undefined;
  return statusCode in ERROR_NAMES ? (statusCode as ErrorStatus) : 400;
}

function thrownCode(thrown: unknown): string | undefined {
  const code = (thrown as Partial<FastifyError> | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/**
 * An error of OAuth 2.0 (RFC 6749); its body has the form that clients of a
 * token endpoint expect.
 */
export class OAuthRefusal extends ExchangeError {
  override readonly name = 'OAuthRefusal';
  readonly body: { error: string; error_description: string };

  constructor(error: string, description: string, status: 400 | 401 = 400) {
    super(status, description);
    this.body = { error, error_description: description };
  }
}
