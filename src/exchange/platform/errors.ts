import type { ErrorStatus } from '../../contract/errors.ts';

/** One thing wrong with a request. The message tells what was found and what would be right. */
export interface FieldError {
  /** As in `address[0].zip`; empty for the request as a whole. */
  path: string;
  message: string;
}

/**
 * An answer other than success that a caller can act on. Its message is shown to the caller: no personal data
 * beyond what the caller sent, no internals. Everything else that is thrown is a fault and answered as 500.
 */
export class ExchangeError extends Error {
  override readonly name: string = 'ExchangeError';

  constructor(
    readonly status: ErrorStatus,
    message: string,
    readonly options: {
      errors?: readonly FieldError[];
      headers?: Readonly<Record<string, string>>;
      /** Further members of the error's body (RFC 9457 extensions). */
      members?: Readonly<Record<string, unknown>>;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
  }
}

/** Mistakes that an answer lists; whoever has made more than that has made one many times. */
export const FIELD_ERRORS_MAX = 100;

/** 400: one or more fields of the request break a rule. */
export class InvalidRequestError extends ExchangeError {
  override readonly name = 'InvalidRequestError';

  /** @param found how many mistakes there are, where `errors` are not all of them */
  constructor(errors: readonly FieldError[], found = errors.length) {
    const listed = errors.slice(0, FIELD_ERRORS_MAX);
    const more = found > listed.length ? [`and ${found - listed.length} more`] : [];
    super(400, [...listed.map(describeFieldError), ...more].join(', '), { errors: listed });
  }
}

/** 403: known caller, but not allowed. */
export class ForbiddenError extends ExchangeError {
  override readonly name = 'ForbiddenError';

  constructor(message: string) {
    super(403, message);
  }
}

/** 404: not there, or another account's. `what` starts the sentence: "Patient", "Network query". */
export class NotFoundError extends ExchangeError {
  override readonly name = 'NotFoundError';

  constructor(what: string) {
    super(404, `${what} not found`);
  }
}

/** 409: not possible in the present state. */
export class ConflictError extends ExchangeError {
  override readonly name = 'ConflictError';

  constructor(message: string) {
    super(409, message);
  }
}

/** 412: the thing has changed since the caller saw it. */
export class PreconditionFailedError extends ExchangeError {
  override readonly name = 'PreconditionFailedError';

  constructor(what: string) {
    super(412, `${what} has changed since this eTag: read it again and repeat the change`);
  }
}

/** 503: a part that this operation needs cannot be reached now; nothing was changed, or it may be repeated. */
export class UnavailableError extends ExchangeError {
  override readonly name: string = 'UnavailableError';

  constructor(message: string, options: { retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(503, message, {
      cause: options.cause,
      headers: { 'retry-after': String(options.retryAfterSeconds ?? 5) },
    });
  }
}

/** 503: too much of the same kind is under way; what has begun goes on, and nothing of this request has. */
export class OverloadError extends UnavailableError {
  override readonly name = 'OverloadError';

  constructor(message: string, retryAfterSeconds = 1) {
    super(message, { retryAfterSeconds });
  }
}

export function describeFieldError(error: FieldError): string {
  return error.path === '' ? error.message : `${error.path}: ${error.message}`;
}
