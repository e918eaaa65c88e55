import type { FhirResource } from 'fhir/r4.js';
import type { SourceType } from '../../../../contract/primitives.ts';
import {
  parseLocalReference,
  referencesIn,
} from '../../../records/rules/references.ts';
import type { SourceContext } from '../capabilities.ts';
import { SourceFailure, type Unreachable } from '../connector.ts';
import { isRecord } from '../http/failures.ts';
import { FHIR_MEDIA_TYPE, type JsonResponse } from '../http/source-http.ts';
import { fetchedBundle } from './bundle-page.ts';
import {
  emptyPart,
  type FetchedPart,
  isStoringDue,
  type Plan,
  type Step,
  type StepOf,
  type SupportingType,
} from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';
import { fetchSearch } from './search-by-type.ts';
import {
  isTransient,
  mayBeAway,
  throwIfSourceIsAway,
  tryTwice,
} from './smaller-pages.ts';
import { isResourceId } from './subjects.ts';

/**
 * $everything includes these by itself; a search by patient finds none of them.
 */
const REFERENCED_TYPES: readonly SupportingType[] = [
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Location',
];
/** Supporting resources to fetch in one attempt. */
const FETCHED_MAX = 500;
/** Limits the names kept in the cursor, which is stored with each page. */
const REMEMBERED_MAX = 2_000;
const IDS_PER_SEARCH = 50;
const METADATA = { path: 'metadata', label: 'metadata' };

type Supporting = Plan['supporting'];

/**
 * Updates the plan's lists after a search page: what its resources refer to,
 * and what it contained.
 */
export function withReferred(
  source: SourceType,
  before: Supporting,
  resources: FhirResource[],
): Supporting {
  const types = REFERENCED_TYPES.filter((type) =>
    resourceTypesOf(source).supporting.includes(type),
  );
  const isOne = (name: string) =>
    types.some((type) => name.startsWith(`${type}/`));
  const brought = resources
    .map(({ resourceType, id }) => `${resourceType}/${id}`)
    .filter(isOne);
  const known = new Set([...before.known, ...brought]);
  const referred = resources.flatMap((resource) =>
    referencesIn(resource).flatMap((reference) => {
      const target = parseLocalReference(reference);
      return target !== undefined && isResourceId(target.id)
        ? [`${target.type}/${target.id}`]
        : [];
    }),
  );
  const wanted = new Set(
    [...before.wanted, ...referred.filter(isOne)].filter(
      (name) => !known.has(name),
    ),
  );
  return {
    wanted: [...wanted].slice(0, REMEMBERED_MAX),
    known: [...known].slice(0, REMEMBERED_MAX),
  };
}

/**
 * The steps that fetch the wanted resources, each once, and how many are left
 * out because of the limit (`beyond`). Run when no other step is left.
 */
export function supportingSteps({ wanted, known }: Supporting): {
  steps: StepOf<'supporting'>[];
  beyond: number;
} {
  const asked = wanted.slice(0, Math.max(0, FETCHED_MAX - known.length));
  const steps = REFERENCED_TYPES.flatMap((type) => {
    const ids = asked.flatMap((name) =>
      name.startsWith(`${type}/`) ? [name.slice(type.length + 1)] : [],
    );
    return searchesFor(type, ids);
  });
  return { steps, beyond: wanted.length - asked.length };
}

/** Types of resources that no search by patient finds. */
export const UNSEARCHED_TYPES: readonly SupportingType[] = [
  ...REFERENCED_TYPES,
  'Medication',
];

/** The steps that ask for these resources by their ids. */
export function supportingSearches(
  resources: readonly { resourceType: string; id: string }[],
): StepOf<'supporting'>[] {
  return UNSEARCHED_TYPES.flatMap((type) => {
    const ids = resources.flatMap(({ resourceType, id }) =>
      resourceType === type && isResourceId(id) ? [id] : [],
    );
    return searchesFor(type, ids);
  });
}

function searchesFor(
  type: SupportingType,
  ids: readonly string[],
): StepOf<'supporting'>[] {
  const steps: StepOf<'supporting'>[] = [];
  for (let start = 0; start < ids.length; start += IDS_PER_SEARCH)
    steps.push({
      kind: 'supporting',
      by: 'search',
      type,
      ids: ids.slice(start, start + IDS_PER_SEARCH),
    });
  return steps;
}

export const beyondMax = (count: number): Unreachable | undefined =>
  count === 0
    ? undefined
    : { count, reason: `at most ${FETCHED_MAX} are fetched for one query` };

/**
 * Fetches referenced resources: first with one search for all ids, then by
 * reading each one that the search did not return, since not every server
 * supports lists of ids. A resource that cannot be fetched is counted as
 * unreachable and fails nothing, unless the source is away: then the step
 * fails, and is tried again when the source is back.
 */
export async function fetchSupporting(
  context: SourceContext,
  step: StepOf<'supporting'>,
  signal: AbortSignal,
): Promise<FetchedPart> {
  return step.by === 'search'
    ? searchFor(context, step, signal)
    : readEach(context, step, signal);
}

async function searchFor(
  context: SourceContext,
  step: StepOf<'supporting'>,
  signal: AbortSignal,
): Promise<FetchedPart> {
  const { type, ids } = step;
  const search = {
    kind: 'search',
    type,
    parameter: '_id',
    value: ids.join(','),
    since: step.since,
  } as const;
  const response = await tryTwice(
    () => fetchSearch(context, search, signal),
    signal,
  );
  if (response instanceof SourceFailure) {
    if (mayBeAway(response))
      await throwIfSourceIsAway(context, METADATA, signal);
    if (isTransient(response))
      return {
        ...emptyPart(),
        unreachable: { count: ids.length, reason: response.message },
      };
    return emptyPart([{ ...step, by: 'read', since: undefined }]);
  }
  const wanted = new Set(ids);
  const isWanted = (resource: unknown) =>
    isRecord(resource) &&
    resource.resourceType === type &&
    wanted.has(String(resource.id));
  // Some servers ignore the search parameters and return everything they have.
  const others = new Set(
    response.entries
      .map(({ resource }) => resource)
      .filter((each) => !isWanted(each)),
  );
  const entries = response.entries.filter(({ resource }) => isWanted(resource));
  for (const { resource } of entries)
    if (isRecord(resource)) wanted.delete(String(resource.id));
  return {
    ...response,
    entries,
    raw:
      others.size === 0
        ? response.raw
        : { ...response.raw, bytes: response.rawWithout(others) },
    // Of a search for changes, those that it did not return have not changed.
    next:
      wanted.size === 0 || step.since !== undefined
        ? []
        : [{ ...step, by: 'read', ids: [...wanted] }],
    isAnsweredSearch: undefined,
    forbidden: undefined,
    refused: undefined,
  };
}

async function readEach(
  context: SourceContext,
  step: StepOf<'supporting'>,
  signal: AbortSignal,
): Promise<FetchedPart> {
  const { type, ids } = step;
  const { http, config } = context;
  const label = type === 'Organization' ? 'an Organization' : `a ${type}`;
  const found: JsonResponse['json'][] = [];
  let reason = '';
  let url = config.baseUrl;
  let done = 0;
  const begunMs = context.now();
  for (const id of ids) {
    if (done > 0 && isStoringDue(context.now, begunMs)) break;
    done += 1;
    url = new URL(`${type}/${id}`, config.baseUrl);
    const response = await tryTwice(
      () => http.json({ method: 'GET', url, label, signal }),
      signal,
    );
    if (!(response instanceof SourceFailure)) {
      if (response.json.resourceType === type && response.json.id === id)
        found.push(response.json);
      continue;
    }
    if (mayBeAway(response))
      await throwIfSourceIsAway(context, METADATA, signal);
    reason = response.message;
    // The source has trouble with these: do not request the remaining ones.
    if (isTransient(response)) {
      done = ids.length;
      break;
    }
  }
  const later = ids.slice(done);
  const next: Step[] = later.length === 0 ? [] : [{ ...step, ids: later }];
  const missing = done - found.length;
  const unreachable =
    missing === 0
      ? undefined
      : {
          count: missing,
          reason: reason || `${config.source} returned different resources`,
        };
  if (found.length === 0) return { ...emptyPart(next), unreachable };
  const json = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: found.map((resource) => ({ resource })),
  };
  const bytes = Buffer.from(JSON.stringify(json));
  const response = { json, bytes, contentType: FHIR_MEDIA_TYPE, url };
  const fetched = fetchedBundle(context, label, response, {
    searchedType: type,
  });
  return { ...fetched, unreachable, next: [...fetched.next, ...next] };
}
