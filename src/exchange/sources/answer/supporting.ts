import { setTimeout as delay } from 'node:timers/promises';
import type { FhirResource } from 'fhir/r4.js';
import type { SourceType } from '../../../contract/primitives.ts';
import { localTarget, referencesIn } from '../../records/rules/references.ts';
import { SourceFailure, type Unreachable } from '../connector.ts';
import { isRecord } from '../http/failures.ts';
import { FHIR_JSON, type JsonAnswer } from '../http/source-http.ts';
import type { SourceContext } from '../source-context.ts';
import { fetchedBundle } from './bundle-page.ts';
import type { Fetched } from './fetched.ts';
import type { Plan, StepOf, SupportingType } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';
import { fetchSearch } from './search-by-type.ts';
import { isResourceId } from './subjects.ts';

/** What $everything brings along by itself; a search by patient finds none of these. */
const COME_ALONG: readonly SupportingType[] = [
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Location',
];
const PER_ANSWER_MAX = 500;
/** Remembered in the cursor of each page, so not without end. */
const REMEMBERED_MAX = 2_000;
const IDS_PER_SEARCH = 50;
const RETRY_DELAY_MAX_MS = 2_000;

type Supporting = Plan['supporting'];

/** The plan's memory after a page of a search: what its resources refer to and what it brought. */
export function withReferred(source: SourceType, before: Supporting, resources: FhirResource[]): Supporting {
  const types = COME_ALONG.filter((type) => resourceTypesOf(source).supporting.includes(type));
  const isOne = (name: string) => types.some((type) => name.startsWith(`${type}/`));
  const brought = resources.map(({ resourceType, id }) => `${resourceType}/${id}`).filter(isOne);
  const known = new Set([...before.known, ...brought]);
  const referred = resources.flatMap((resource) =>
    referencesIn(resource).flatMap((reference) => {
      const target = localTarget(reference);
      return target !== undefined && isResourceId(target.id) ? [`${target.type}/${target.id}`] : [];
    }),
  );
  const wanted = new Set([...before.wanted, ...referred.filter(isOne)].filter((name) => !known.has(name)));
  return { wanted: [...wanted].slice(0, REMEMBERED_MAX), known: [...known].slice(0, REMEMBERED_MAX) };
}

/**
 * What to do when nothing else is left to fetch: steps for what is still wanted, each resource once, and how many are too
 * many to ask for.
 */
export function supportingSteps({ wanted, known }: Supporting): {
  steps: StepOf<'supporting'>[];
  beyond: number;
} {
  const asked = wanted.slice(0, Math.max(0, PER_ANSWER_MAX - known.length));
  const steps = COME_ALONG.flatMap((type) => {
    const ids = asked.flatMap((name) => (name.startsWith(`${type}/`) ? [name.slice(type.length + 1)] : []));
    const ofType: StepOf<'supporting'>[] = [];
    for (let start = 0; start < ids.length; start += IDS_PER_SEARCH)
      ofType.push({ kind: 'supporting', by: 'search', type, ids: ids.slice(start, start + IDS_PER_SEARCH) });
    return ofType;
  });
  return { steps, beyond: wanted.length - asked.length };
}

export const beyondMax = (count: number): Unreachable | undefined =>
  count === 0 ? undefined : { count, reason: `at most ${PER_ANSWER_MAX} are fetched for one answer` };

/**
 * Fetches what others refer to: by one search for all ids, then by a read of each that the search did not bring, for not
 * every server knows lists of ids. The record is worth having without them, so one that cannot be had fails nothing.
 */
export async function fetchSupporting(
  context: SourceContext,
  step: StepOf<'supporting'>,
  signal: AbortSignal,
): Promise<Fetched> {
  return step.by === 'search' ? searchFor(context, step, signal) : readEach(context, step, signal);
}

async function searchFor(
  context: SourceContext,
  step: StepOf<'supporting'>,
  signal: AbortSignal,
): Promise<Fetched> {
  const { type, ids } = step;
  const search = { kind: 'search', type, parameter: '_id', value: ids.join(',') } as const;
  const answer = await tryTwice(() => fetchSearch(context, search, signal), signal);
  if (answer instanceof SourceFailure) {
    if (isPassing(answer)) return nothing({ count: ids.length, reason: answer.message });
    return { ...nothing(undefined), next: [{ ...step, by: 'read' }] };
  }
  const wanted = new Set(ids);
  const isWanted = (resource: unknown) =>
    isRecord(resource) && resource.resourceType === type && wanted.has(String(resource.id));
  // Some servers ignore what they are asked and answer with all that they have.
  const others = new Set(answer.entries.map(({ resource }) => resource).filter((each) => !isWanted(each)));
  const entries = answer.entries.filter(({ resource }) => isWanted(resource));
  for (const { resource } of entries) if (isRecord(resource)) wanted.delete(String(resource.id));
  return {
    ...answer,
    entries,
    raw: others.size === 0 ? answer.raw : { ...answer.raw, bytes: answer.rawWithout(others) },
    next: wanted.size === 0 ? [] : [{ ...step, by: 'read', ids: [...wanted] }],
    isAnsweredSearch: undefined,
  };
}

async function readEach(
  context: SourceContext,
  { type, ids }: StepOf<'supporting'>,
  signal: AbortSignal,
): Promise<Fetched> {
  const { http, config } = context;
  const label = type === 'Organization' ? 'an Organization' : `a ${type}`;
  const found: JsonAnswer['json'][] = [];
  let reason = '';
  let url = config.baseUrl;
  for (const id of ids) {
    url = new URL(`${type}/${id}`, config.baseUrl);
    const answer = await tryTwice(() => http.json({ method: 'GET', url, label, signal }), signal);
    if (!(answer instanceof SourceFailure)) {
      if (answer.json.resourceType === type && answer.json.id === id) found.push(answer.json);
      continue;
    }
    reason = answer.message;
    // What is in trouble, or wants to be left alone, is not asked for the others.
    if (isPassing(answer)) break;
  }
  const missing = ids.length - found.length;
  const unreachable =
    missing === 0 ? undefined : { count: missing, reason: reason || `${config.source} answered with others` };
  if (found.length === 0) return nothing(unreachable);
  const json = { resourceType: 'Bundle', type: 'collection', entry: found.map((resource) => ({ resource })) };
  const bytes = Buffer.from(JSON.stringify(json));
  const answer = { json, bytes, contentType: FHIR_JSON, url };
  return { ...fetchedBundle(context, label, answer, { searchedType: type }), unreachable };
}

const isPassing = ({ kind }: SourceFailure): boolean => kind === 'transport' || kind === 'rate-limited';

/** What passes is waited for once, for a moment. */
async function tryTwice<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T | SourceFailure> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof SourceFailure) || signal.aborted) throw error;
      if (!isFirst || !isPassing(error)) return error;
      const waitMs = Math.min(error.options.retryAfterMs ?? 200, RETRY_DELAY_MAX_MS);
      await delay(waitMs, undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
}

function nothing(unreachable: Unreachable | undefined): Fetched {
  const bytes = Buffer.alloc(0);
  return {
    entries: [],
    raw: { bytes, contentType: FHIR_JSON },
    rawWithout: () => bytes,
    next: [],
    unreachable,
  };
}
