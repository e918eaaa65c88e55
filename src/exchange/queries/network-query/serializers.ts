import type { z } from 'zod';
import type { NetworkQueryStatus, sourceStatusSchema } from '../../../contract/network-query.ts';
import type { Dialect } from '../../platform/account.ts';
import type { AttemptView, QueryView } from './query-store.ts';
import { lastAttempts } from './rules/query-status.ts';

/** A query as E2 and E4 return it, with `processing` for whatever is running. */
export const serializeStartedQuery = (query: QueryView, dialect: Dialect): NetworkQueryStatus =>
  queryAnswer(query, dialect, 'processing');

/** A query as E3 and its related operations return it, with `in-progress` for whatever is running. */
export const serializeQueryStatus = (query: QueryView, dialect: Dialect): NetworkQueryStatus =>
  queryAnswer(query, dialect, dialect === 'published' ? 'processing' : 'in-progress');

type Running = 'processing' | 'in-progress';

type SourceStatus = z.output<typeof sourceStatusSchema>;

function queryAnswer(query: QueryView, dialect: Dialect, running: Running): NetworkQueryStatus {
  const attempts = dialect === 'published' ? lastAttempts(query.attempts) : query.attempts;
  return {
    requestId: query.requestId,
    patientId: query.patientId,
    externalId: query.externalId ?? undefined,
    startedAt: query.startedAt.toISOString(),
    status: query.status === 'running' ? running : query.status,
    sources: attempts.map((attempt) => ({
      type: attempt.source,
      status: sourceStatus(attempt, dialect, running),
      startedAt: attempt.startedAt.toISOString(),
      completedAt: attempt.completedAt?.toISOString(),
      reason: attempt.status === 'failed' ? attempt.reason : undefined,
      waiting: attempt.waiting && {
        reason: attempt.waiting.reason,
        since: attempt.waiting.since.toISOString(),
        nextTryAt: attempt.waiting.nextTryAt.toISOString(),
      },
    })),
    ...(query.errors.length > 0 ? { errors: query.errors } : {}),
  };
}

/** The published dialect has one entry per source, so a source that awaits a retry counts as running, not as failed. */
function sourceStatus(attempt: AttemptView, dialect: Dialect, running: Running): SourceStatus {
  if (attempt.status === 'running') return running;
  return dialect === 'published' && attempt.willRetry ? running : attempt.status;
}
