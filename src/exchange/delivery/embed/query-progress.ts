import type { SourceError } from '../../../contract/network-query.ts';
import { CANCEL_REASONS } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import type { AttemptView, QueryView } from '../../queries/network-query/query-store.ts';
import { lastAttempts } from '../../queries/network-query/rules/query-status.ts';

/** One source of a query, as the embedded page shows it. */
export interface SourceProgress {
  source: SourceType;
  /** `waiting`: an attempt failed and another one is due. `cancelled`: it was cancelled on request. */
  status: 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
  attempt: number;
  /** Resources collected by this attempt so far. */
  resources: number;
  startedAt?: string;
  completedAt?: string;
  /** Why it failed, or completed without data. */
  reason?: string;
}

export interface QueryProgress {
  requestId: string;
  /** `cancelled`: all of its sources were cancelled. */
  status: QueryView['status'] | 'cancelled';
  startedAt: string;
  sources: SourceProgress[];
}

/** The latest queries of a patient, newest first. */
export interface PatientQueries {
  queries: QueryProgress[];
  /** Number of all queries, including older ones that are not in the list. */
  total: number;
}

/** The progress of a query: the last attempt of each source. Sources that could not start are failed. */
export function queryProgress(query: QueryView): QueryProgress {
  const attempts = lastAttempts(query.attempts).map(
    (attempt): SourceProgress => ({
      source: attempt.source,
      status: statusOf(attempt),
      attempt: attempt.attempt,
      resources: attempt.resources,
      startedAt: attempt.startedAt.toISOString(),
      completedAt: attempt.completedAt?.toISOString(),
      reason: attempt.reason,
    }),
  );
  const sources = [...attempts, ...query.errors.map(unstarted)];
  const isCancelled = sources.length > 0 && sources.every(({ status }) => status === 'cancelled');
  return {
    requestId: query.requestId,
    status: isCancelled ? 'cancelled' : query.status,
    startedAt: query.startedAt.toISOString(),
    sources,
  };
}

function statusOf({ status, willRetry, reason }: AttemptView): SourceProgress['status'] {
  if (status !== 'failed') return status;
  if (willRetry) return 'waiting';
  return CANCEL_REASONS.includes(reason ?? '') ? 'cancelled' : 'failed';
}

const unstarted = ({ source, message }: SourceError): SourceProgress => ({
  source,
  status: 'failed',
  attempt: 0,
  resources: 0,
  reason: message,
});
