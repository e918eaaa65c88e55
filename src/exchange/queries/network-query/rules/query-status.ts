import type { SourceType } from '../../../../contract/primitives.ts';

export type AttemptState = 'running' | 'completed' | 'failed';
export type QueryState = 'running' | 'completed' | 'partial' | 'failed';

export interface AttemptStanding {
  source: SourceType;
  /** Counts from 1 for each source. */
  attempt: number;
  status: AttemptState;
  /** The attempt failed and a further one follows. */
  willRetry: boolean;
}

/**
 * Overall status of a query: `running` while any source runs or awaits another
 * attempt. After that each source's last attempt decides: all completed, all
 * failed, otherwise partial. A query without any started source has failed.
 * (docs/interface.md, "Network query overall status")
 */
export function overallStatus(
  attempts: readonly AttemptStanding[],
): QueryState {
  const last = lastAttempts(attempts);
  if (last.some((attempt) => attempt.status === 'running' || attempt.willRetry))
    return 'running';
  const completed = last.filter(
    (attempt) => attempt.status === 'completed',
  ).length;
  if (completed === 0) return 'failed';
  return completed === last.length ? 'completed' : 'partial';
}

/** Each source's attempt with the highest number. */
export function lastAttempts<A extends { source: SourceType; attempt: number }>(
  attempts: readonly A[],
): A[] {
  const last = new Map<SourceType, A>();
  for (const attempt of attempts) {
    const known = last.get(attempt.source);
    if (known === undefined || known.attempt < attempt.attempt)
      last.set(attempt.source, attempt);
  }
  return [...last.values()];
}

/**
 * Why the patient's consents exclude a source, as callers see it. The opt-out
 * of hie is one of them, too.
 */
export const excludedByConsent = (source: SourceType): string =>
  `A consent of the patient excludes the ${source} source`;

export const UNKNOWN_PATIENT = 'The source does not know this patient';

/** So many of those that failed are named; a longer list hides the rest of a page. */
export const NAMED_MAX = 5;

/** A part of an attempt that has ended. */
export interface EndedPart {
  name: string;
  status: 'completed' | 'failed';
  reason: string | null;
}

/**
 * The outcome of an attempt whose parts have all ended. What some connections
 * delivered is kept when others failed; the attempt fails only if all of them
 * did.
 */
export function outcomeOfParts(
  parts: readonly EndedPart[],
):
  | { status: 'completed'; note?: string; gap?: string }
  | { status: 'failed'; reason: string } {
  const failed = parts.filter(({ status }) => status === 'failed');
  const named = failed
    .slice(0, NAMED_MAX)
    .map((part) => `${part.name}: ${part.reason ?? 'no reason'}`);
  const others = failed.length - named.length;
  const reason = `${failed.length} of ${parts.length} connections failed: ${[
    ...named,
    ...(others === 0 ? [] : [`and ${others} more`]),
  ].join('; ')}`;
  if (failed.length === parts.length) return { status: 'failed', reason };
  if (failed.length > 0) return { status: 'completed', gap: reason };
  const isUnknown = parts.every((part) => part.reason === UNKNOWN_PATIENT);
  return isUnknown
    ? { status: 'completed', note: UNKNOWN_PATIENT }
    : { status: 'completed' };
}
