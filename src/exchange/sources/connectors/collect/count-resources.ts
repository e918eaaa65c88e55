import { SourceFailure } from '../connector.ts';
import type { SourceContext } from '../source-context.ts';
import { bundleOf } from './bundle.ts';
import type { StepOf } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';
import { isUnsupportedSearch, searchRequests, searchSteps } from './search-by-type.ts';

/**
 * How many resources of these types a source has about a person, by its own count (`_summary=count`). Only types of the person's
 * record count, not the Patient or what others refer to. Undefined: the source does not search for the type by patient, or does
 * not count.
 */
export async function countResources(
  context: SourceContext,
  patientIds: readonly string[],
  types: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number | undefined>> {
  const { clinical } = resourceTypesOf(context.config.source);
  const counted = types.filter((type) => type !== 'Patient' && clinical.includes(type));
  const counts = new Map<string, number>();
  try {
    for (const patientId of patientIds)
      for (const step of await searchSteps(context, patientId)) {
        if (!counted.includes(step.type) || step.parameter === '_id') continue;
        const total = await countOf(context, step, signal);
        counts.set(step.type, (counts.get(step.type) ?? 0) + (total ?? Number.NaN));
      }
  } catch (error) {
    if (!(error instanceof SourceFailure) || signal.aborted) throw error;
    counts.clear();
  }
  return new Map(
    counted.map((type) => [type, Number.isNaN(counts.get(type)) ? undefined : counts.get(type)]),
  );
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
