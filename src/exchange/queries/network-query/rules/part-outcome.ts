import { SOURCE_STEERING } from '../../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../../contract/source-types.ts';

export const UNKNOWN_PATIENT = 'The source does not know this patient';

export interface EndedPart {
  name: string;
  status: 'completed' | 'failed';
  reason: string | null;
}

export type AttemptOutcome =
  | { status: 'completed'; note?: string; gap?: string }
  | { status: 'failed'; reason: string };

/**
 * The outcome of an attempt whose parts have all ended. What some connections delivered is kept when others failed; the
 * attempt fails only if all of them did.
 */
export function outcomeOfParts(parts: readonly EndedPart[]): AttemptOutcome {
  const failed = parts.filter(({ status }) => status === 'failed');
  const reason = `${failed.length} of ${parts.length} connections failed: ${failed
    .map((part) => `${part.name}: ${part.reason ?? 'no reason'}`)
    .join('; ')}`;
  if (failed.length === parts.length) return { status: 'failed', reason };
  if (failed.length > 0) return { status: 'completed', gap: reason };
  const isUnknown = parts.every((part) => part.reason === UNKNOWN_PATIENT);
  return isUnknown ? { status: 'completed', note: UNKNOWN_PATIENT } : { status: 'completed' };
}

const HOUR_MS = 3_600_000;

/** How long before the deadline of its source a connection fails: longer than the workflow waits between two polls. */
const MARGIN_MS: Record<SourceType, number> = { hie: 2 * HOUR_MS, pharmacy: HOUR_MS, lab: 4 * HOUR_MS };

/**
 * A connection that has not answered after this long fails, while the answers of the others are kept: at its deadline the
 * source as a whole would fail.
 */
export const partDeadlineMs = (source: SourceType): number =>
  SOURCE_STEERING[source].deadlineMs - MARGIN_MS[source];

export const noAnswerWithin = (source: SourceType): string =>
  `No answer within ${partDeadlineMs(source) / HOUR_MS} hours`;

/** The wait before a connection that accepted the request and then failed is asked again; undefined: it fails. */
export const waitAfterFailedTries = (source: SourceType, failedTries: number): number | undefined =>
  SOURCE_STEERING[source].nextAttemptAfterMs[failedTries];
