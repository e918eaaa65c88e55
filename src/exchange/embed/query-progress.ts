import type { SourceError } from '../../contract/network-query.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { lastAttempts } from '../domain/query-status.ts';
import type { QueryView } from '../store/network-queries.ts';

/** One source of a query, as the embedded page shows it. */
export interface SourceProgress {
  source: SourceType;
  /** `waiting`: an attempt failed, and another is due. */
  status: 'running' | 'waiting' | 'completed' | 'failed';
  attempt: number;
  /** Resources collected by this attempt so far. */
  resources: number;
  startedAt?: string;
  completedAt?: string;
  /** Why it failed. */
  reason?: string;
}

export interface QueryProgress {
  requestId: string;
  status: QueryView['status'];
  startedAt: string;
  sources: SourceProgress[];
}

/** By source its last attempt; sources that could not start are failed. The page has no dialects. */
export function queryProgress(query: QueryView): QueryProgress {
  const attempts = lastAttempts(query.attempts).map(
    ({ source, status, willRetry, attempt, resources, startedAt, completedAt, reason }): SourceProgress => ({
      source,
      status: status === 'failed' && willRetry ? 'waiting' : status,
      attempt,
      resources,
      startedAt: startedAt.toISOString(),
      completedAt: completedAt?.toISOString(),
      ...(status === 'failed' && { reason }),
    }),
  );
  return {
    requestId: query.requestId,
    status: query.status,
    startedAt: query.startedAt.toISOString(),
    sources: [...attempts, ...query.errors.map(unstarted)],
  };
}

const unstarted = ({ source, message }: SourceError): SourceProgress => ({
  source,
  status: 'failed',
  attempt: 0,
  resources: 0,
  reason: message,
});
