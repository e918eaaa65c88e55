import type { SourceType } from '../../../../contract/primitives.ts';
import { retryAfterMs } from '../../../../lib/retry-after.ts';
import { SourceFailure, type SourceFailureKind } from '../connector.ts';
import {
  type ConfiguredSource,
  settingCommand,
  settingName,
} from '../source-settings.ts';

/**
 * The codes of FHIR's IssueType value set. Any other value may contain personal
 * data.
 */
export const ISSUE_CODES: ReadonlySet<string> = new Set(
  `invalid structure required value invariant security login unknown expired forbidden suppressed processing
  not-supported duplicate multiple-matches not-found deleted too-long code-invalid extension too-costly
  business-rule conflict transient lock-error no-store exception timeout incomplete throttled
  informational`.split(/\s+/),
);

/**
 * The issue code of an OperationOutcome. Its texts are not used: they may name
 * the patient.
 */
export function issueCodeOf(json: unknown): string | undefined {
  if (
    !isRecord(json) ||
    json.resourceType !== 'OperationOutcome' ||
    !Array.isArray(json.issue)
  )
    return undefined;
  const issues: unknown[] = json.issue;
  const codes = issues.map((issue) =>
    isRecord(issue) ? issue.code : undefined,
  );
  return codes.find(
    (code): code is string => typeof code === 'string' && ISSUE_CODES.has(code),
  );
}

/** What we read from an error response. */
export interface SourceErrorResponse {
  status: number;
  retryAfterMs?: number;
  /**
   * Whether the body is an OperationOutcome: the FHIR server itself responded,
   * not a proxy in front of it.
   */
  isOutcome?: boolean;
  issueCode?: string;
}

/**
 * The failure for an address at an origin that is not configured. Only a change
 * of the configuration helps.
 */
export function foreignOrigin(
  config: ConfiguredSource,
  what: string,
  url: URL,
): SourceFailure {
  const { source } = config;
  const { origin, protocol, username, password } = url;
  if (!/^https?:$/.test(protocol) || username !== '' || password !== '')
    return badResponse(
      source,
      `${what} ${origin}, by an address that is not a plain http or https URL`,
    );
  const allowed = settingName(config, 'allowedOrigins');
  const own = settingName(config, 'ownBaseUrls');
  const remedy = `name it in ${allowed}, or in ${own} if the server calls itself so${settingCommand(config)}`;
  const message = `${source} ${what} ${origin}, which is not one of its configured origins: ${remedy}`;
  return new SourceFailure('refused', message);
}

/** The SourceFailure for an HTTP error status. */
export function failureOfStatus(
  source: SourceType,
  label: string,
  response: SourceErrorResponse,
): SourceFailure {
  const { status, retryAfterMs, issueCode } = response;
  const code = issueCode === undefined ? '' : ` (${issueCode})`;
  return new SourceFailure(
    kindOfStatus(response),
    `${source} answered ${status}${code} to ${label}`,
    {
      httpStatus: status,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
  );
}

/**
 * The SourceFailure for an error of the token endpoint. Any 4xx means that our
 * credentials are not accepted.
 */
export function failureOfTokenRequest(
  source: SourceType,
  label: string,
  response: SourceErrorResponse,
): SourceFailure {
  const { kind, message, options } = failureOfStatus(source, label, response);
  return new SourceFailure(
    kind === 'refused' ? 'denied' : kind,
    message,
    options,
  );
}

/**
 * Issue codes with which a 403 is about this patient (consent, a rule of the
 * source) and not about our credentials.
 */
const ABOUT_THE_PATIENT = new Set(['suppressed', 'business-rule']);

function kindOfStatus({
  status,
  issueCode = '',
}: SourceErrorResponse): SourceFailureKind {
  if (status === 429) return 'rate-limited';
  if (status === 408 || status >= 500) return 'transport';
  if (status === 401 || (status === 403 && !ABOUT_THE_PATIENT.has(issueCode)))
    return 'denied';
  if (status >= 400) return 'refused';
  return 'bad-answer';
}

/**
 * The failure for a further page or file. Sources keep the rest of a result
 * only for a while; once it is gone (404, 410), the data must be requested
 * again.
 */
export function failureOfRest(
  source: SourceType,
  label: string,
  response: SourceErrorResponse,
): SourceFailure {
  const { status } = response;
  if (status !== 404 && status !== 410)
    return failureOfStatus(source, label, response);
  const message = `${source} no longer has the rest of its result (${status} to ${label})`;
  return new SourceFailure('job-failed', message, { httpStatus: status });
}

/**
 * A response larger than allowed. What was read of it is private, so that no
 * log can contain it.
 */
export class ResponseTooLargeError extends SourceFailure {
  readonly #page: { url: URL; beginning: Buffer };

  constructor(message: string, url: URL, beginning: Buffer) {
    super('bad-answer', message);
    this.#page = { url, beginning };
  }

  /**
   * Its address, and what was read: nothing if the response declared its size
   * and `keepsBeginning` was not set.
   */
  page(): { url: URL; beginning: Buffer } {
    return this.#page;
  }
}

export function badResponse(
  source: SourceType,
  what: string,
  cause?: unknown,
): SourceFailure {
  return new SourceFailure('bad-answer', `${source} ${what}`, { cause });
}

const RETRY_AFTER_MAX_MS = 24 * 3_600_000;

/**
 * Parses Retry-After to milliseconds, at most a day, so that a source cannot
 * hold up an attempt for weeks.
 */
export function parseRetryAfter(
  value: string | undefined,
  nowMs: number,
): number | undefined {
  const afterMs = retryAfterMs(value, nowMs);
  return afterMs === undefined
    ? undefined
    : Math.min(afterMs, RETRY_AFTER_MAX_MS);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
