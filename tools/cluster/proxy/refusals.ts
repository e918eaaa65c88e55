import type { IncomingHttpHeaders } from 'node:http';

/** How a request was refused. */
export interface Refused {
  /** `cut`: the response ended in the middle. */
  status: number | 'cut';
  /** What the response says, such as which part is away. */
  detail?: string | undefined;
  /**
   * 503 with Retry-After: nothing was done, and the client knows when to send
   * the request again.
   */
  isPostponed: boolean;
}

/**
 * A refused request. Contains neither ids nor the query, because they may lead
 * to a person.
 */
export interface ProxyRefusal extends Refused {
  receivedAt: string;
  endedAt: string;
  method: string;
  /** The path, with `:id` for each part that is not a plain word. */
  path: string;
  /** The gateway that answered; undefined if the proxy did. */
  backend?: string | undefined;
}

const DETAIL_LENGTH_MAX = 300;
/**
 * Letters, or one of the versions in our paths. Ids and tokens have digits, or
 * are longer.
 */
const WORD = /^(?:\$?[a-zA-Z-]{1,30}|v\d|R\d|hl7v2)$/;

export function pathPattern(url = '/'): string {
  const [path = '/'] = url.split('?', 1);
  return path
    .split('/')
    .map((part) => (part === '' || WORD.test(part) ? part : ':id'))
    .join('/');
}

export const isPostponed = (
  status: number,
  headers: IncomingHttpHeaders,
): boolean => status === 503 && headers['retry-after'] !== undefined;

/** The explanation in a problem (RFC 9457) or an OperationOutcome (FHIR). */
export function detailOf(body: unknown): string | undefined {
  try {
    const { detail, issue } = JSON.parse(String(body)) as {
      detail?: unknown;
      issue?: { diagnostics?: unknown }[];
    };
    const text = detail ?? issue?.[0]?.diagnostics;
    return typeof text === 'string'
      ? text.slice(0, DETAIL_LENGTH_MAX)
      : undefined;
  } catch {
    return undefined;
  }
}
