import { setTimeout as delay } from 'node:timers/promises';
import { type Identity, namesAnother } from '../../records/rules/retirement.ts';
import { type Fate, type MissingResources, SourceFailure } from '../connector.ts';
import { isRecord } from '../http/failures.ts';
import type { SourceContext } from '../source-context.ts';
import { namedPatientIds } from './subjects.ts';

/** A source is not to be flooded with reads that only tidy up. */
const PAUSE_MS = 50;

/**
 * Reads the resources that a full answer no longer holds, one after the other. 410 says that one was deleted. 404 says so
 * only where reads of its type are served at all: some servers answer 404 to every read. Stops at the first read that the
 * source is too busy or too broken to answer; what was not read by then is `unknown`.
 */
export async function whatBecameOf(
  context: SourceContext,
  { missing, patientIds, present }: MissingResources,
  signal: AbortSignal,
): Promise<Fate[]> {
  const ids = new Set(patientIds);
  const isServed = new Map<string, boolean>();
  const fates: Fate[] = [];
  try {
    for (const identity of missing) {
      if (fates.length > 0) await delay(PAUSE_MS, undefined, { signal });
      const fate = await read(context, identity, ids, signal);
      if (fate !== 'not-found') {
        fates.push(fate);
        continue;
      }
      const { resourceType } = identity;
      const served =
        isServed.get(resourceType) ?? (await servesReads(context, resourceType, present, signal));
      isServed.set(resourceType, served);
      fates.push(served ? 'deleted' : 'unknown');
    }
  } catch (error) {
    if (!(error instanceof SourceFailure) || signal.aborted) throw error;
  }
  return missing.map((_, index) => fates[index] ?? 'unknown');
}

/** @throws SourceFailure when the source gave no answer to rely on */
async function read(
  { config, http }: SourceContext,
  { resourceType, id }: Identity,
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Fate | 'not-found'> {
  const label = `a ${resourceType}`;
  const url = new URL(`${resourceType}/${id}`, config.baseUrl);
  const answer = await http.send({ method: 'GET', url, label, signal });
  if (answer.status === 200) {
    const { json } = await http.readJson(answer, label);
    if (!isRecord(json) || json.resourceType !== resourceType || json.id !== id) return 'unknown';
    if (resourceType === 'Patient') return 'kept';
    const named = namedPatientIds(json, { config, ids, urns: new Map() });
    return namesAnother(named, ids) ? 'moved' : 'kept';
  }
  if (answer.status === 429 || answer.status === 408 || answer.status >= 500) {
    throw await http.failureOf(answer, label);
  }
  await answer.discard();
  if (answer.status === 410) return 'deleted';
  return answer.status === 404 ? 'not-found' : 'unknown';
}

/** Whether a 404 to a read of this type means something: one that is there is found, or the server says it serves them. */
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
  return (await context.capabilities.read()).readTypes?.has(resourceType) === true;
}
