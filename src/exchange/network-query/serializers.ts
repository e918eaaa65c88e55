import type { z } from 'zod';
import type { NetworkQueryStatus, sourceStatusSchema } from '../../contract/network-query.ts';
import type { Dialect } from '../accounts/account-store.ts';
import type { AttemptView, QueryView } from './query-store.ts';
import { lastAttempts } from './rules/query-status.ts';

/** A query as E2 and E4 answer it: what runs is `processing`. */
export const serializeStartedQuery = (query: QueryView, dialect: Dialect): NetworkQueryStatus =>
  queryAnswer(query, dialect, 'processing');

/** A query as E3 and the operations around it answer it: what runs is `in-progress`. */
export const serializeQueryStatus = (query: QueryView, dialect: Dialect): NetworkQueryStatus =>
  queryAnswer(query, dialect, dialect === 'published' ? 'processing' : 'in-progress');

type Running = 'processing' | 'in-progress';

type SourceStatus = z.output<typeof sourceStatusSchema>;

function queryAnswer(query: QueryView, dialect: Dialect, running: Running): NetworkQueryStatus {
  const attempts = dialect === 'published' ? lastAttempts(query.attempts) : query.attempts;
  return {
    requestId: query.requestId,
    patientId: query.patientId,
    startedAt: query.startedAt.toISOString(),
    status: query.status === 'running' ? running : query.status,
    sources: attempts.map((attempt) => ({
      type: attempt.source,
      status: sourceStatus(attempt, dialect, running),
      startedAt: attempt.startedAt.toISOString(),
      completedAt: attempt.completedAt?.toISOString(),
    })),
    ...(query.errors.length > 0 ? { errors: query.errors } : {}),
  };
}

/** With one entry per type, a source that is about to be tried again has not failed yet. */
function sourceStatus(attempt: AttemptView, dialect: Dialect, running: Running): SourceStatus {
  if (attempt.status === 'running') return running;
  return dialect === 'published' && attempt.willRetry ? running : attempt.status;
}
