import type { Dispatcher } from 'undici';
import { retryAfterMs } from '../../lib/retry-after.ts';

/**
 * The kinds of failed calls to an exchange; a closed list, because workflows
 * decide by it.
 */
export type FailureKind =
  | 'rejected'
  | 'not-found'
  | 'conflict'
  | 'rate-limited'
  | 'unavailable'
  | 'ambiguous'
  | 'bad-answer'
  | 'unauthorized';

/**
 * Kinds that may be retried. `ambiguous` may be too, for calls that cannot take
 * effect twice.
 */
const RETRIED: ReadonlySet<FailureKind> = new Set([
  'rate-limited',
  'unavailable',
]);

const KIND_BY_STATUS: Readonly<Record<number, FailureKind>> = {
  401: 'unauthorized',
  403: 'unauthorized',
  404: 'not-found',
  408: 'unavailable',
  409: 'conflict',
  410: 'not-found',
  412: 'conflict',
  423: 'conflict',
  429: 'rate-limited',
  501: 'rejected',
  503: 'unavailable',
  505: 'rejected',
};

const RETRY_AFTER_MAX_MS = 3_600_000;

export interface CallNature {
  /**
   * Changes state (a POST): without a response, it is unknown whether the call
   * took effect.
   */
  changes: boolean;
  /** May be sent twice and takes effect once. */
  repeatable: boolean;
  /**
   * A 409 can only mean that the first call under this idempotency key is still
   * running. Otherwise only one with Retry-After means that.
   */
  conflictMeansRunning: boolean;
}

/**
 * A call to an exchange failed. The message contains the operation, the status
 * and the paths of invalid members, but no values, so it may appear in Temporal
 * and in logs.
 */
export class ExchangeCallError extends Error {
  override readonly name = 'ExchangeError';
  readonly retryable: boolean;
  readonly httpStatus?: number;
  /** The wait that the exchange requested (Retry-After). */
  readonly retryAfterMs?: number;
  /** Private, so that it is not serialized with the error. */
  readonly #explanation: string | undefined;
  readonly kind: FailureKind;

  constructor(
    kind: FailureKind,
    message: string,
    details: { retryable: boolean; httpStatus?: number; retryAfterMs?: number },
    explanation?: string,
  ) {
    super(message);
    this.kind = kind;

    this.#explanation = explanation;
    this.retryable = details.retryable;
    this.httpStatus = details.httpStatus;
    this.retryAfterMs = details.retryAfterMs;
  }

  /**
   * The exchange's own words, field by field. They may quote what was sent: for
   * the caller's terminal, never for logs.
   */
  explanation(): string | undefined {
    return this.#explanation;
  }
}

/** What a call to the exchange got in return. */
export const receivedResponse = (
  { statusCode, headers }: Dispatcher.ResponseData<unknown>,
  body: unknown,
) => ({
  status: statusCode,
  retryAfter: [headers['retry-after']].flat()[0],
  body,
  isHtml: isHtml(headers['content-type']),
});

/** The error for a response with a status outside 2xx. */
export function failedResponse(
  operation: string,
  answer: ReturnType<typeof receivedResponse>,
  nature: CallNature,
): ExchangeCallError {
  const kind = failureKind(answer.status, nature);
  const stillRunning =
    answer.status === 409 &&
    (nature.conflictMeansRunning || answer.retryAfter !== undefined);
  const message = `${operation}: ${answer.status}${describeBody(answer.body)}${advice(kind, answer.isHtml)}`;
  const details = {
    retryable: stillRunning || mayRepeat(kind, nature),
    httpStatus: answer.status,
    retryAfterMs: boundedRetryAfterMs(answer.retryAfter, Date.now()),
  };
  return new ExchangeCallError(
    kind,
    message,
    details,
    explanationOf(answer.body),
  );
}

/** What to check, for failures that a repetition does not cure. */
function advice(kind: FailureKind, isHtml: boolean): string {
  if (isHtml)
    return '; the answer is an HTML page, so a proxy or another service has answered: check EXCHANGE_BASE_URL';
  return kind === 'unauthorized'
    ? '; the exchange does not accept our credential: check EXCHANGE_API_KEY or INTERNAL_TOKEN_KEY, and the scopes of the key'
    : '';
}

/** Whether a `content-type` header announces an HTML page. */
export const isHtml = (contentType: string | string[] | undefined): boolean =>
  /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(
    [contentType].flat()[0] ?? '',
  );

function failureKind(status: number, nature: CallNature): FailureKind {
  const kind = KIND_BY_STATUS[status];
  if (kind !== undefined) return kind;
  if (status >= 500) return nature.changes ? 'ambiguous' : 'unavailable';
  return status >= 400 ? 'rejected' : 'bad-answer';
}

/**
 * The error for a call without a response. `sent`: the request may have reached
 * the exchange.
 */
export function failedTransport(
  operation: string,
  reason: string,
  sent: boolean,
  nature: CallNature,
): ExchangeCallError {
  const kind = sent && nature.changes ? 'ambiguous' : 'unavailable';
  const outcome =
    kind === 'ambiguous' ? '; it is unknown whether the call took effect' : '';
  return new ExchangeCallError(
    kind,
    `${operation}: no answer (${reason})${outcome}`,
    {
      retryable: mayRepeat(kind, nature),
    },
  );
}

/** Finds the code of an undici or system error in the chain of causes. */
export function errorCodeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined || cause === null
    ? 'connection failed'
    : errorCodeOf(cause);
}

/**
 * The error for a 2xx response that does not match the interface. Not
 * retryable, because the call took effect.
 */
export const mismatchedResponse = (
  operation: string,
  problem: string,
  httpStatus: number,
): ExchangeCallError =>
  new ExchangeCallError(
    'bad-answer',
    `${operation}: ${httpStatus}, but ${problem}`,
    {
      retryable: false,
      httpStatus,
    },
  );

/**
 * The error for a 2xx response that is an HTML page, such as the login page of
 * a proxy.
 */
export const htmlResponse = (
  operation: string,
  httpStatus: number,
): ExchangeCallError =>
  mismatchedResponse(
    operation,
    'the answer is an HTML page; a proxy or another service has answered: check EXCHANGE_BASE_URL',
    httpStatus,
  );

const mayRepeat = (kind: FailureKind, nature: CallNature): boolean =>
  RETRIED.has(kind) || (kind === 'ambiguous' && nature.repeatable);

/**
 * Parses Retry-After to milliseconds, at most one hour, so that a server cannot
 * hold up a workflow for days.
 */
export const boundedRetryAfterMs = (
  value: string | undefined,
  nowMs: number,
): number | undefined => retryAfterMs(value, nowMs, RETRY_AFTER_MAX_MS);

/**
 * Formats an error body as ` NAME "Title" (path, path)`. The body may quote
 * values that were sent, so only members that are constants are used, and only
 * if they have the expected form.
 */
function describeBody(body: unknown): string {
  if (typeof body !== 'object' || body === null) return '';
  const { name, title, errors } = body as Record<string, unknown>;
  const parts = [
    typeof name === 'string' && /^[A-Z][A-Z_]{1,59}$/.test(name)
      ? ` ${name}`
      : '',
    typeof title === 'string' && /^[A-Za-z][A-Za-z ,-]{0,99}$/.test(title)
      ? ` "${title}"`
      : '',
  ];
  const paths = (Array.isArray(errors) ? errors : [])
    .slice(0, 20)
    .flatMap(pathOf);
  return `${parts.join('')}${paths.length > 0 ? ` (${paths.join(', ')})` : ''}`;
}

function explanationOf(body: unknown): string | undefined {
  const detail = (body as { detail?: unknown } | null | undefined)?.detail;
  return typeof detail === 'string' && detail.trim() !== ''
    ? detail.slice(0, EXPLANATION_MAX)
    : undefined;
}

const EXPLANATION_MAX = 2_000;

function pathOf(error: unknown): string[] {
  const path = (error as { path?: unknown } | null)?.path;
  const text = Array.isArray(path) ? path.join('.') : path;
  return typeof text === 'string' && /^[A-Za-z][\w.[\]-]{0,99}$/.test(text)
    ? [text]
    : [];
}
