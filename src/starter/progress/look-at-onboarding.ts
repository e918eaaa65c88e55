import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { QueryReader } from './look-at-query.ts';
import type { KnownOfOnboarding } from './onboarding-view.ts';
import type { QueryView } from './query-view.ts';

/** The queries of an onboarding as the exchange tells them; those it does not answer for stay as they were. */
export async function readQueries(
  reader: QueryReader | undefined,
  requestIds: readonly string[],
  before: KnownOfOnboarding['queries'],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, QueryView>> {
  const queries = new Map(before);
  if (reader === undefined) return queries;
  for (const requestId of requestIds) {
    // An ended query can be taken up again, so only the end of the onboarding ends the looking.
    const view = await reader.look(requestId, signal).catch((error: unknown) => {
      if (error instanceof ExchangeCallError || signal?.aborted === true) return undefined;
      throw error;
    });
    if (view !== undefined) queries.set(requestId, view);
  }
  return queries;
}
