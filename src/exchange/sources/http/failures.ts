import type { SourceType } from '../../../contract/primitives.ts';
import { retryAfterMs } from '../../../lib/retry-after.ts';
import { SourceFailure, type SourceFailureKind } from '../connector.ts';

/** The codes of FHIR's IssueType value set. Others may be anything, personal data included. */
const ISSUE_CODES = new Set(
  `invalid structure required value invariant security login unknown expired forbidden suppressed processing
  not-supported duplicate multiple-matches not-found deleted too-long code-invalid extension too-costly
  business-rule conflict transient lock-error no-store exception timeout incomplete throttled
  informational`.split(/\s+/),
);

/** The issue code of an OperationOutcome. Its texts are never passed on: they may name the patient. */
export function issueCodeOf(json: unknown): string | undefined {
  if (!isRecord(json) || json.resourceType !== 'OperationOutcome' || !Array.isArray(json.issue))
    return undefined;
  const issues: unknown[] = json.issue;
  const codes = issues.map((issue) => (isRecord(issue) ? issue.code : undefined));
  return codes.find((code): code is string => typeof code === 'string' && ISSUE_CODES.has(code));
}

/** What an error answer says. */
export interface ErrorAnswer {
  status: number;
  retryAfterMs?: number;
  /** Whether the body is an OperationOutcome: then the FHIR server itself speaks, not something before it. */
  isOutcome?: boolean;
  issueCode?: string;
}

/** The failure that an HTTP status stands for. */
export function failureOfStatus(source: SourceType, label: string, answer: ErrorAnswer): SourceFailure {
  const { status, retryAfterMs, issueCode } = answer;
  const code = issueCode === undefined ? '' : ` (${issueCode})`;
  return new SourceFailure(kindOfStatus(status), `${source} answered ${status}${code} to ${label}`, {
    httpStatus: status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function kindOfStatus(status: number): SourceFailureKind {
  if (status === 429) return 'rate-limited';
  if (status === 408 || status >= 500) return 'transport';
  if (status >= 400) return 'refused';
  return 'bad-answer';
}

/**
 * The failure of a further page or file. Sources keep the rest of an answer for a while only: once it is gone, the
 * whole has to be asked for anew.
 */
export function failureOfRest(source: SourceType, label: string, answer: ErrorAnswer): SourceFailure {
  const { status } = answer;
  if (status !== 404 && status !== 410) return failureOfStatus(source, label, answer);
  const message = `${source} no longer has the rest of its answer (${status} to ${label})`;
  return new SourceFailure('job-failed', message, { httpStatus: status });
}

export function badAnswer(source: SourceType, what: string, cause?: unknown): SourceFailure {
  return new SourceFailure('bad-answer', `${source} ${what}`, { cause });
}

const RETRY_AFTER_MAX_MS = 24 * 3_600_000;

/** At most a day: what a source asks for must not hold an attempt for weeks. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const afterMs = retryAfterMs(value, nowMs);
  return afterMs === undefined ? undefined : Math.min(afterMs, RETRY_AFTER_MAX_MS);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
