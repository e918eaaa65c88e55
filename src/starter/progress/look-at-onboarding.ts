import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { QueryReader } from './look-at-query.ts';
import type { KnownOfOnboarding } from './onboarding-view.ts';
import type { QueryView } from './query-view.ts';

/** Reads the queries of an onboarding from the exchange. A query that cannot be read keeps its earlier view. */
export async function readQueries(
  reader: QueryReader | undefined,
  requestIds: readonly string[],
  before: KnownOfOnboarding['queries'],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, QueryView>> {
  const queries = new Map(before);
  if (reader === undefined) return queries;
  for (const requestId of requestIds) {
    // An ended query may be retried, so it is read until the onboarding itself has ended.
    const view = await reader.look(requestId, signal).catch((error: unknown) => {
      if (error instanceof ExchangeCallError || signal?.aborted === true) return undefined;
      throw error;
    });
    if (view !== undefined) queries.set(requestId, view);
  }
  return queries;
}
