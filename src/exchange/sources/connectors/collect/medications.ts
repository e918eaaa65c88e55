import type { SourceContext } from '../capabilities.ts';
import { isRecord } from '../http/failures.ts';
import { FHIR_MEDIA_TYPE } from '../http/source-http.ts';
import {
  emptyPart,
  type FetchedPart,
  type ResponseEntry,
  type Step,
  type StepOf,
} from './plan.ts';
import { refersToMedication } from './resource-types.ts';
import { isResourceId } from './subjects.ts';

const IDS_PER_SEARCH = 50;

/**
 * Steps for Medications that a search page refers to but does not include; not
 * every server supports `_include`.
 */
export function medicationSteps(
  searchedType: string | undefined,
  entries: ResponseEntry[],
): Step[] {
  if (searchedType === undefined || !refersToMedication(searchedType))
    return [];
  const included = idsOf(entries);
  const missing = [
    ...new Set(entries.flatMap(({ resource }) => referredId(resource))),
  ].filter((id) => !included.has(id));
  const steps: Step[] = [];
  for (let start = 0; start < missing.length; start += IDS_PER_SEARCH) {
    const value = missing.slice(start, start + IDS_PER_SEARCH).join(',');
    steps.push({ kind: 'search', type: 'Medication', parameter: '_id', value });
  }
  return steps;
}

/**
 * Steps that read, one by one, the Medications that a search for several ids
 * did not return; not every server supports lists of ids.
 */
export function missingReads(
  { type, value }: StepOf<'search'>,
  entries: ResponseEntry[],
): Step[] {
  const returned = idsOf(entries);
  if (type !== 'Medication') return [];
  const missing = value
    .split(',')
    .filter((id) => isResourceId(id) && !returned.has(id));
  return missing.map((id) => ({ kind: 'read', type, id }));
}

/**
 * Reads one Medication. One that no longer exists (404, 410) yields no entries
 * and is not a failure.
 */
export async function fetchRead(
  { config, http }: SourceContext,
  step: StepOf<'read'>,
  signal: AbortSignal,
): Promise<FetchedPart> {
  const label = `a ${step.type}`;
  const response = await http.send({
    method: 'GET',
    url: new URL(`${step.type}/${step.id}`, config.baseUrl),
    label,
    signal,
  });
  if (response.status === 404 || response.status === 410) {
    await response.discard();
    return emptyPart();
  }
  if (response.status !== 200) throw await http.failureOf(response, label);
  const { json, bytes } = await http.readJson(response, label);
  return {
    ...emptyPart(),
    entries: [{ resource: json }],
    raw: { bytes, contentType: FHIR_MEDIA_TYPE },
  };
}

function idsOf(entries: ResponseEntry[]): Set<string> {
  return new Set(
    entries.flatMap(({ resource }) => {
      return isRecord(resource) && resource.resourceType === 'Medication'
        ? [String(resource.id)]
        : [];
    }),
  );
}

function referredId(resource: unknown): string[] {
  if (!isRecord(resource) || !isRecord(resource.medicationReference)) return [];
  const id = /^Medication\/([^/]+)$/.exec(
    String(resource.medicationReference.reference),
  )?.[1];
  return isResourceId(id) ? [id] : [];
}
