import { SourceFailure } from '../connector.ts';
import type { SourceContext } from '../source-context.ts';
import { bundleOf } from './bundle.ts';
import type { StepOf } from './plan.ts';
import { isUnsupportedSearch, searchRequests, searchSteps } from './search-by-type.ts';

/**
 * How many resources of these types a source has about a person, by its own count (`_summary=count`). Without an entry: it does
 * not search for the type by patient, or does not count.
 */
export async function countResources(
  context: SourceContext,
  patientIds: readonly string[],
  types: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  try {
    for (const patientId of patientIds)
      for (const step of await searchSteps(context, patientId)) {
        if (!types.includes(step.type) || step.parameter === '_id' || step.status !== undefined) continue;
        const total = await countOf(context, step, signal);
        counts.set(step.type, (counts.get(step.type) ?? 0) + (total ?? Number.NaN));
      }
  } catch (error) {
    // This only makes sure: a source that fails it has still answered the question itself.
    if (!(error instanceof SourceFailure) || signal.aborted) throw error;
  }
  return new Map([...counts].filter(([, count]) => !Number.isNaN(count)));
}

async function countOf(
  context: SourceContext,
  step: StepOf<'search'>,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { config, http } = context;
  const label = `${step.type}/_search`;
  for (const request of searchRequests(context, step, { _summary: 'count' })) {
    const response = await http.send({ ...request, label, signal });
    if (response.status === 200)
      return bundleOf(config.source, label, await http.readJson(response, label)).total;
    if (!isUnsupportedSearch(response.status)) throw await http.failureOf(response, label);
    await response.discard();
  }
  return undefined;
}
