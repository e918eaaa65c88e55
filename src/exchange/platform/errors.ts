import type { ErrorCode, ErrorStatus } from '../../contract/errors.ts';

/**
 * One invalid field of a request. The message states what was found and what is
 * expected.
 */
export interface FieldError {
  /** Such as `address[0].zip`; empty for the request as a whole. */
  path: string;
  message: string;
}

interface ExchangeErrorOptions {
  /** Of this status; default: the general code of the status. */
  code?: ErrorCode;
  errors?: readonly FieldError[];
  headers?: Readonly<Record<string, string>>;
  /** Further members of the error's body (RFC 9457 extensions). */
  members?: Readonly<Record<string, unknown>>;
  cause?: unknown;
}

/**
 * An error response that the caller can act on. The message is shown to the
 * caller, so it must contain no internals and no personal data beyond what the
 * caller sent. Any other error becomes a 500 without details.
 */
export class ExchangeError extends Error {
  override readonly name: string = 'ExchangeError';

  readonly status: ErrorStatus;
  readonly options: ExchangeErrorOptions;

  constructor(
    status: ErrorStatus,
    message: string,
    options: ExchangeErrorOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.status = status;
    this.options = options;
  }
}

/**
 * Maximum number of field errors in a response; beyond that, most repeat the
 * same mistake.
 */
export const FIELD_ERRORS_MAX = 100;

/** 400: one or more fields of the request break a rule. */
export class InvalidRequestError extends ExchangeError {
  override readonly name = 'InvalidRequestError';

  /**
   * @param found total number of errors, if `errors` does not contain all of
   *   them
   */
  constructor(errors: readonly FieldError[], found = errors.length) {
    const listed = errors.slice(0, FIELD_ERRORS_MAX);
    const more =
      found > listed.length ? [`and ${found - listed.length} more`] : [];
    super(400, [...listed.map(describeFieldError), ...more].join(', '), {
      errors: listed,
    });
  }
}

/** 403: the caller is authenticated but not permitted. */
export class ForbiddenError extends ExchangeError {
  override readonly name = 'ForbiddenError';

  constructor(message: string, code: ErrorCode = 'not-permitted') {
    super(403, message, { code });
  }
}

/**
 * 404: it does not exist, or belongs to another account. `what` begins the
 * message: "Patient", "Network query".
 */
export class NotFoundError extends ExchangeError {
  override readonly name = 'NotFoundError';

  constructor(what: string) {
    super(404, `${what} not found`);
  }
}

/**
 * Returns `found`; throws NotFoundError if it is undefined. `what` begins the
 * message: "Patient".
 */
export function orNotFound<T>(what: string, found: T | undefined): T {
  if (found === undefined) throw new NotFoundError(what);
  return found;
}

/** 409: not possible in the current state. */
export class ConflictError extends ExchangeError {
  override readonly name = 'ConflictError';

  constructor(message: string) {
    super(409, message);
  }
}

/** 412: the object has changed since the caller read it. */
export class PreconditionFailedError extends ExchangeError {
  override readonly name = 'PreconditionFailedError';

  constructor(what: string) {
    super(
      412,
      `${what} has changed since this eTag; read it again and repeat the change`,
    );
  }
}

/**
 * 503: a dependency is unavailable. Nothing was changed, or the request can
 * safely be repeated.
 */
export class UnavailableError extends ExchangeError {
  override readonly name: string = 'UnavailableError';

  constructor(
    message: string,
    options: {
      retryAfterSeconds?: number;
      code?: ErrorCode;
      cause?: unknown;
    } = {},
  ) {
    super(503, message, {
      code: options.code,
      cause: options.cause,
      headers: { 'retry-after': String(options.retryAfterSeconds ?? 5) },
    });
  }
}

/**
 * Why a request is refused: the account has used its share, or the gateway
 * cannot keep up.
 */
export const OVERLOAD_REASONS = ['account', 'gateway'] as const;
export type OverloadReason = (typeof OVERLOAD_REASONS)[number];

/**
 * 503: too many concurrent requests of this kind. Nothing of this request has
 * been done.
 */
export class OverloadError extends UnavailableError {
  override readonly name = 'OverloadError';
  readonly reason: OverloadReason;

  constructor(reason: OverloadReason, message: string, retryAfterSeconds = 1) {
    super(message, { retryAfterSeconds, code: 'overloaded' });
    this.reason = reason;
  }
}

/**
 * `path: message`, or the message alone if the error concerns the whole
 * request.
 */
export function describeFieldError(error: FieldError): string {
  return error.path === '' ? error.message : `${error.path}: ${error.message}`;
}
