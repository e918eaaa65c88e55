import { isRecord } from '../http/failures.ts';
import { FHIR_JSON } from '../http/source-http.ts';
import type { SourceContext } from '../source-context.ts';
import type { Entry } from './entry.ts';
import type { Fetched } from './fetched.ts';
import type { Step, StepOf } from './plan.ts';
import { refersToMedication } from './resource-types.ts';
import { isResourceId } from './subjects.ts';

const IDS_PER_SEARCH = 50;

/** Medications that a page of a search refers to and that `_include` did not bring: not every server knows it. */
export function medicationSteps(searchedType: string | undefined, entries: Entry[]): Step[] {
  if (searchedType === undefined || !refersToMedication(searchedType)) return [];
  const brought = idsOf(entries);
  const missing = [...new Set(entries.flatMap(({ resource }) => referredId(resource)))].filter(
    (id) => !brought.has(id),
  );
  const steps: Step[] = [];
  for (let start = 0; start < missing.length; start += IDS_PER_SEARCH) {
    const value = missing.slice(start, start + IDS_PER_SEARCH).join(',');
    steps.push({ kind: 'search', type: 'Medication', parameter: '_id', value });
  }
  return steps;
}

/** What a search for several Medications did not bring is read one by one: not every server knows lists of ids. */
export function missingReads({ type, value }: StepOf<'search'>, entries: Entry[]): Step[] {
  const brought = idsOf(entries);
  if (type !== 'Medication') return [];
  const missing = value.split(',').filter((id) => isResourceId(id) && !brought.has(id));
  return missing.map((id) => ({ kind: 'read', type, id }));
}

/** One Medication; one that is gone is nothing to fail for. */
export async function fetchRead(
  { config, http }: SourceContext,
  step: StepOf<'read'>,
  signal: AbortSignal,
): Promise<Fetched> {
  const label = `a ${step.type}`;
  const answer = await http.send({
    method: 'GET',
    url: new URL(`${step.type}/${step.id}`, config.baseUrl),
    label,
    signal,
  });
  if (answer.status === 404 || answer.status === 410) {
    await answer.discard();
    return { entries: [], ...rawOf(Buffer.alloc(0)), next: [] };
  }
  if (answer.status !== 200) throw await http.failureOf(answer, label);
  const { json, bytes } = await http.readJson(answer, label);
  return { entries: [{ resource: json }], ...rawOf(bytes), next: [] };
}

function rawOf(bytes: Buffer): Pick<Fetched, 'raw' | 'rawWithout'> {
  return { raw: { bytes, contentType: FHIR_JSON }, rawWithout: () => Buffer.alloc(0) };
}

function idsOf(entries: Entry[]): Set<string> {
  return new Set(
    entries.flatMap(({ resource }) => {
      return isRecord(resource) && resource.resourceType === 'Medication' ? [String(resource.id)] : [];
    }),
  );
}

function referredId(resource: unknown): string[] {
  if (!isRecord(resource) || !isRecord(resource.medicationReference)) return [];
  const id = /^Medication\/([^/]+)$/.exec(String(resource.medicationReference.reference))?.[1];
  return isResourceId(id) ? [id] : [];
}
