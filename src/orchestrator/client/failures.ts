import { retryAfterMs } from '../../lib/retry-after.ts';

/** Everything that can go wrong with a call to an exchange; the closed list that workflows decide by. */
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
 * What may be called again. `if-repeatable`: only a call that cannot do its work twice (GET, PUT, a POST with an
 * idempotency key that the exchange honours).
 */
const RETRY: Readonly<Record<FailureKind, boolean | 'if-repeatable'>> = {
  rejected: false,
  'not-found': false,
  conflict: false,
  'rate-limited': true,
  unavailable: true,
  ambiguous: 'if-repeatable',
  'bad-answer': false,
  unauthorized: false,
};

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
  /** Without an answer one cannot know whether it was carried out, and that matters (a POST). */
  changes: boolean;
  /** May be sent twice without doing its work twice. */
  repeatable: boolean;
  /** A 409 can only mean that the first call under this idempotency key is still running. */
  conflictMeansRunning: boolean;
}

/**
 * A call to an exchange that gave no usable answer. The message names the operation, the status and the paths of
 * wrong members, never a value, so it may be shown in Temporal and in logs.
 */
export class ExchangeCallError extends Error {
  override readonly name = 'ExchangeError';
  readonly kind: FailureKind;
  readonly retryable: boolean;
  readonly httpStatus?: number;
  /** The wait that the exchange asked for (Retry-After). */
  readonly retryAfterMs?: number;

  constructor(
    kind: FailureKind,
    message: string,
    details: { retryable: boolean; httpStatus?: number; retryAfterMs?: number },
  ) {
    super(message);
    this.kind = kind;
    this.retryable = details.retryable;
    this.httpStatus = details.httpStatus;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** An HTTP answer outside 2xx. */
export function failedAnswer(
  operation: string,
  answer: { status: number; retryAfter: string | undefined; body: unknown },
  nature: CallNature,
): ExchangeCallError {
  const kind = kindOf(answer.status, nature);
  const stillRunning = answer.status === 409 && nature.conflictMeansRunning;
  return new ExchangeCallError(kind, `${operation}: ${answer.status}${describeBody(answer.body)}`, {
    retryable: stillRunning || mayRepeat(kind, nature),
    httpStatus: answer.status,
    retryAfterMs: parseRetryAfter(answer.retryAfter, Date.now()),
  });
}

function kindOf(status: number, nature: CallNature): FailureKind {
  const kind = KIND_BY_STATUS[status];
  if (kind !== undefined) return kind;
  if (status >= 500) return nature.changes ? 'ambiguous' : 'unavailable';
  return status >= 400 ? 'rejected' : 'bad-answer';
}

/** No answer at all. `sent` says whether the request may have reached the exchange. */
export function failedTransport(
  operation: string,
  reason: string,
  sent: boolean,
  nature: CallNature,
): ExchangeCallError {
  const kind = sent && nature.changes ? 'ambiguous' : 'unavailable';
  const outcome = kind === 'ambiguous' ? '; whether it was carried out is not known' : '';
  return new ExchangeCallError(kind, `${operation}: no answer (${reason})${outcome}`, {
    retryable: mayRepeat(kind, nature),
  });
}

/** The code of an error of undici or the system, wherever it stands. */
export function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (typeof code === 'string') return code;
  return cause === undefined || cause === null ? 'connection failed' : codeOf(cause);
}

/** A 2xx whose content is not what the interface says. Sending it again would only do the work again. */
export function badAnswer(operation: string, problem: string, httpStatus: number): ExchangeCallError {
  return new ExchangeCallError('bad-answer', `${operation}: ${httpStatus}, but ${problem}`, {
    retryable: false,
    httpStatus,
  });
}

function mayRepeat(kind: FailureKind, nature: CallNature): boolean {
  const rule = RETRY[kind];
  return rule === 'if-repeatable' ? nature.repeatable : rule;
}

/** At most one hour: what a server asks for must not hold a workflow for days. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const afterMs = retryAfterMs(value, nowMs);
  return afterMs === undefined ? undefined : Math.min(afterMs, RETRY_AFTER_MAX_MS);
}

/**
 * ` NAME "Title" (path, path)`. An error body may quote what was sent, so only members that are constants by their
 * nature are taken, and only when they look like it.
 */
function describeBody(body: unknown): string {
  if (typeof body !== 'object' || body === null) return '';
  const { name, title, errors } = body as Record<string, unknown>;
  const parts = [
    typeof name === 'string' && /^[A-Z][A-Z_]{1,59}$/.test(name) ? ` ${name}` : '',
    typeof title === 'string' && /^[A-Za-z][A-Za-z ,-]{0,99}$/.test(title) ? ` "${title}"` : '',
  ];
  const paths = (Array.isArray(errors) ? errors : []).slice(0, 20).flatMap(pathOf);
  return `${parts.join('')}${paths.length > 0 ? ` (${paths.join(', ')})` : ''}`;
}

function pathOf(error: unknown): string[] {
  const path = (error as { path?: unknown } | null)?.path;
  const text = Array.isArray(path) ? path.join('.') : path;
  return typeof text === 'string' && /^[A-Za-z][\w.[\]-]{0,99}$/.test(text) ? [text] : [];
}
