import { setTimeout as delay } from 'node:timers/promises';
import {
  type Identity,
  namesAnother,
} from '../../../records/rules/retirement.ts';
import type { SourceContext } from '../capabilities.ts';
import {
  type Fate,
  type MissingResources,
  SourceFailure,
} from '../connector.ts';
import { isRecord, ResponseTooLargeError } from '../http/failures.ts';
import { bundleOf } from './bundle-page.ts';
import type { StepOf } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';
import {
  isUnsupportedSearch,
  searchRequests,
  searchSteps,
} from './search-by-type.ts';
import { namedPatientIds } from './subjects.ts';

/** Pause between reads: this is housekeeping and must not load the source. */
const PAUSE_MS = 50;

/**
 * Reads, one after the other, the resources that are missing from a complete
 * result, to find out whether they were deleted. 410 means deleted. 404 means
 * deleted only if the source serves reads of that type: some servers answer 404
 * to every read. Stops at the first 408, 429, 5xx or broken response; the
 * remaining resources are `unknown`.
 */
export async function checkMissing(
  context: SourceContext,
  { missing, patientIds, present, isOver }: MissingResources,
  signal: AbortSignal,
): Promise<Fate[]> {
  const ids = new Set(patientIds);
  const isServed = new Map<string, boolean>();
  const fates: Fate[] = [];
  try {
    for (const identity of missing) {
      if (fates.length > 0 && isOver?.() === true) return fates;
      if (fates.length > 0) await delay(PAUSE_MS, undefined, { signal });
      const fate = await read(context, identity, ids, signal);
      if (fate !== 'not-found') {
        fates.push(fate);
        continue;
      }
      const { resourceType } = identity;
      const served =
        isServed.get(resourceType) ??
        (await servesReads(context, resourceType, present, signal));
      isServed.set(resourceType, served);
      fates.push(served ? 'deleted' : 'unknown');
    }
  } catch (error) {
    if (!(error instanceof SourceFailure) || signal.aborted) throw error;
  }
  return missing.map((_, index) => fates[index] ?? 'unknown');
}

/** @throws SourceFailure when the source did not give a reliable response */
async function read(
  { config, http }: SourceContext,
  { resourceType, id }: Identity,
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Fate | 'not-found'> {
  const label = `a ${resourceType}`;
  const url = new URL(`${resourceType}/${id}`, config.baseUrl);
  const response = await http.send({ method: 'GET', url, label, signal });
  if (response.status === 200) {
    // Too large to be read, so its subject is unknown. The other resources can
    // still be checked.
    const read = await http
      .readJson(response, label)
      .catch((error: unknown) => {
        if (error instanceof ResponseTooLargeError) return undefined;
        throw error;
      });
    if (read === undefined) return 'unknown';
    const { json } = read;
    if (!isRecord(json) || json.resourceType !== resourceType || json.id !== id)
      return 'unknown';
    if (resourceType === 'Patient') return 'kept';
    const named = namedPatientIds(json, { config, ids, urns: new Map() });
    return namesAnother(named, ids) ? 'moved' : 'kept';
  }
  if (
    response.status === 429 ||
    response.status === 408 ||
    response.status >= 500
  ) {
    throw await http.failureOf(response, label);
  }
  await response.discard();
  if (response.status === 410) return 'deleted';
  return response.status === 404 ? 'not-found' : 'unknown';
}

/**
 * Whether the source serves reads of this type, so that a 404 means something:
 * it returns a resource known to exist, or its CapabilityStatement lists the
 * interaction.
 */
async function servesReads(
  context: SourceContext,
  resourceType: string,
  present: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<boolean> {
  const id = present.get(resourceType);
  if (id !== undefined) {
    const fate = await read(context, { resourceType, id }, new Set(), signal);
    return fate === 'kept' || fate === 'moved';
  }
  return (
    (await context.capabilities.read()).readTypes?.has(resourceType) === true
  );
}

/**
 * How many resources of these types a source has about a person, by its own
 * count (`_summary=count`). Only types of the person's record count, not the
 * Patient or what others refer to. Undefined: the source does not search for
 * the type by patient, or does not count.
 */
export async function countResources(
  context: SourceContext,
  patientIds: readonly string[],
  types: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number | undefined>> {
  const { clinical } = resourceTypesOf(context.config.source);
  const counted = types.filter(
    (type) => type !== 'Patient' && clinical.includes(type),
  );
  const counts = new Map<string, number>();
  try {
    for (const patientId of patientIds)
      for (const step of await searchSteps(context, patientId)) {
        if (!counted.includes(step.type) || step.parameter === '_id') continue;
        const total = await countOf(context, step, signal);
        counts.set(
          step.type,
          (counts.get(step.type) ?? 0) + (total ?? Number.NaN),
        );
      }
  } catch (error) {
    if (!(error instanceof SourceFailure) || signal.aborted) throw error;
    counts.clear();
  }
  return new Map(
    counted.map((type) => [
      type,
      Number.isNaN(counts.get(type)) ? undefined : counts.get(type),
    ]),
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
      return bundleOf(
        config.source,
        label,
        await http.readJson(response, label),
      ).total;
    if (!isUnsupportedSearch(response.status))
      throw await http.failureOf(response, label);
    await response.discard();
  }
  return undefined;
}
