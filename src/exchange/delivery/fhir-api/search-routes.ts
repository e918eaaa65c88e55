import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isJson, type Json } from '#record-summary/fhir';
import { fhirJson } from '../../../lib/written-decimals.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { Store } from '../../platform/database/database.ts';
import {
  ExchangeError,
  InvalidRequestError,
  orNotFound,
} from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import {
  completenessMeta,
  incompleteness,
} from '../../records/reading/completeness.ts';
import { countConsolidated } from '../../records/reading/read-consolidated.ts';
import type { FoundPlace } from '../../records/reading/record-search-store.ts';
import { SERVED_TYPES } from '../../records/rules/resource-types.ts';
import {
  matchesAll,
  parseDateCondition,
  searchEntries,
} from '../../records/rules/search.ts';
import {
  type BundleLink,
  FHIR_JSON,
  leftOutIssues,
  searchEntriesOf,
  searchIssues,
  searchsetOf,
} from './bundles.ts';
import {
  countPatients,
  type PatientCriteria,
  parsePatientSearch,
  searchPatients,
} from './patient-search.ts';
import {
  readRecordedConsents,
  type SearchPlace,
  searchServed,
} from './recorded-consents.ts';
import {
  checkSearch,
  type FhirDeps,
  mayRead,
  pairsOf,
  requireScope,
} from './requests.ts';
import {
  COUNT_MAX,
  matchesSearch,
  parseSearch,
  type SearchPair,
  type SearchRequest,
} from './rules/search-request.ts';
import {
  placesOfIds,
  readIncluded,
  readServed,
  type ServedResource,
  searchRecord,
} from './search-record.ts';

/** `GET /fhir/R4/<Type>` and `POST /fhir/R4/<Type>/_search`. */
export function addSearchRoutes(app: FastifyInstance, deps: FhirDeps): void {
  const search = async (
    request: FastifyRequest<{ Params: { type: string } }>,
    reply: FastifyReply,
  ) => {
    const { type } = request.params;
    requireType(type);
    requireScope(request, type);
    const bundle = await (type === 'Patient'
      ? searchForPatients(deps, request)
      : searchOneType(deps, type, request));
    return reply
      .type(FHIR_JSON)
      .header('cache-control', 'no-store')
      .send(fhirJson(bundle));
  };
  const config = { operation: 'fhirSearch', scope: 'read' } as const;
  const schema = { hide: true };
  app.get(
    `${deps.path}/:type`,
    { schema, config, exposeHeadRoute: false },
    search,
  );
  app.post(`${deps.path}/:type/_search`, { schema, config }, search);
  const docref = async (request: FastifyRequest, reply: FastifyReply) => {
    requireScope(request, 'DocumentReference');
    const bundle = await searchOneType(
      deps,
      'DocumentReference',
      request,
      docrefSearch,
    );
    return reply
      .type(FHIR_JSON)
      .header('cache-control', 'no-store')
      .send(fhirJson(bundle));
  };
  app.get(
    `${deps.path}/${DOCREF}`,
    { schema, config, exposeHeadRoute: false },
    docref,
  );
  app.post(`${deps.path}/${DOCREF}`, { schema, config }, docref);
}

const DOCREF = 'DocumentReference/$docref';

/**
 * `$docref` as US Core and International Patient Access define it: the
 * documents about care between `start` and `end`, superseded ones too, or
 * without these the current ones. A document that does not state when the care
 * was is taken by its own date. None is made on demand.
 *
 * @returns the operation as a search with parameters of its own, and a
 *   condition on what is found
 */
function docrefSearch(given: readonly SearchPair[]) {
  const bounds = given.flatMap(([name, value]): SearchPair[] =>
    name === 'start' || name === 'end'
      ? [[name, `${name === 'start' ? 'ge' : 'le'}${value}`]]
      : [],
  );
  const others = given.filter(
    ([name]) => !['start', 'end', 'on-demand'].includes(name),
  );
  const clausesOn = (parameter: string) =>
    parseSearch(
      'DocumentReference',
      bounds.map(([, value]): SearchPair => [parameter, value]),
    ).request.clauses;
  const byCare = clausesOn('period');
  const byDate = clausesOn('date');
  const isOnDemand = given.some(
    ([name, value]) => name === 'on-demand' && value === 'true',
  );
  return {
    pairs: [
      ...others,
      [
        'status',
        bounds.length === 0 ? 'current' : 'current,superseded',
      ] as const,
    ],
    faults: bounds
      .filter(([, value]) => parseDateCondition(value) === undefined)
      .map(([parameter]) => ({
        parameter,
        message: 'is not a date such as 2026-05-01',
      })),
    keeps(json: Json): boolean {
      const statesCare =
        isJson(json.context) && json.context.period !== undefined;
      return (
        !isOnDemand &&
        matchesAll(searchEntries(json), statesCare ? byCare : byDate)
      );
    },
  };
}

/** @throws ExchangeError 404 */
export function requireType(type: string): void {
  if (!SERVED_TYPES.includes(type))
    throw new ExchangeError(
      404,
      'This resource type is not served here; GET /fhir/R4/metadata lists those that are',
    );
}

/** The search of a page: as sent, or as it was when its first page was sent. */
export async function openSearchPage<Place>(
  { cursors }: FhirDeps,
  path: string,
  pairs: readonly SearchPair[],
): Promise<{ pairs: readonly SearchPair[]; place: Place | undefined }> {
  const cursor = pairs.find(([name]) => name === '_page')?.[1];
  if (cursor === undefined) return { pairs, place: undefined };
  return cursors.read<Place>(path, cursor);
}

/** A search with the path that it was sent to. */
type Asked = SearchRequest & { path: string };

async function linksOf<Place>(
  { base, cursors }: FhirDeps,
  { path, used: pairs }: Pick<Asked, 'path' | 'used'>,
  next: Place | undefined,
): Promise<BundleLink[]> {
  const query = new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [name, value]),
  ).toString();
  const self: BundleLink = {
    relation: 'self',
    url: `${base}/${path}${query === '' ? '' : `?${query}`}`,
  };
  if (next === undefined) return [self];
  const cursor = await cursors.write({ path, pairs, place: next });
  return [self, { relation: 'next', url: `${base}/${path}?_page=${cursor}` }];
}

async function searchOneType(
  deps: FhirDeps,
  type: string,
  request: FastifyRequest,
  asSearch?: typeof docrefSearch,
) {
  const path = asSearch === undefined ? type : DOCREF;
  const { pairs, place } = await openSearchPage<SearchPlace>(
    deps,
    path,
    pairsOf(request, deps.base),
  );
  const operation = asSearch?.(pairs);
  const { request: parsed, faults } = parseSearch(
    type,
    operation?.pairs ?? pairs,
  );
  const search = {
    ...parsed,
    path,
    keeps: operation?.keeps,
    used: operation ? [...pairs] : parsed.used,
  };
  checkSearch(request, {
    faults: [...(operation?.faults ?? []), ...faults],
    ignored: search.ignored,
  });
  const { patientId } = search;
  if (patientId === undefined) return searchByIds(deps, type, search, request);
  const { id: accountId } = callerOf(request).account;
  await requirePatient(deps, accountId, patientId);
  // Later pages belong to the record that the first page showed.
  if (place === undefined) await deps.records.merge(accountId, patientId);
  if (search.isCountOnly)
    return countOfType(deps, type, { ...search, patientId }, request);
  const { page, included, standing } = await readResourcePage(
    deps,
    request,
    type,
    { ...search, patientId },
    place,
  );
  const isAll = place === undefined && page.next === undefined;
  return searchsetOf(
    {
      meta: completenessMeta(standing),
      links: await linksOf(deps, search, page.next),
      total: isAll ? page.matches.length : undefined,
    },
    searchEntriesOf(deps.base, patientId, {
      ...page,
      included: included.resources,
      subset: search.subset,
      withProvenance: search.withProvenance && mayRead(request, 'Provenance'),
    }),
    [
      ...searchIssues(search.ignored, incompleteness(standing)),
      ...leftOutIssues(included.leftOut),
    ],
  );
}

/**
 * A page of a patient's resources of one type, with what it includes and how
 * complete the record is; audited.
 */
export async function readResourcePage(
  deps: FhirDeps,
  request: FastifyRequest,
  type: string,
  search: SearchRequest & { patientId: string },
  place: SearchPlace | undefined,
) {
  const { patientId } = search;
  const read = await deps.store.asAccount(
    callerOf(request).account.id,
    async (tx) => {
      const page = await searchServed(
        tx,
        { patientId, resourceType: type, request: search },
        place,
      );
      const included = await readIncluded(
        tx,
        patientId,
        page.matches,
        search.include,
        (each) => mayRead(request, each),
      );
      return {
        page,
        included,
        standing: await deps.readStanding(tx, patientId),
      };
    },
  );
  await deps.audit.write(request, [patientId]);
  return read;
}

/** Answers how many resources of the patient match. */
async function countOfType(
  deps: FhirDeps,
  type: string,
  search: Asked & { patientId: string },
  request: FastifyRequest,
) {
  const { patientId } = search;
  const { id: accountId } = callerOf(request).account;
  const total = await countMatches(deps.store, accountId, {
    patientId,
    resourceType: type,
    request: search,
  });
  const standing = await deps.store.asAccount(accountId, (tx) =>
    deps.readStanding(tx, patientId),
  );
  await deps.audit.write(request, [patientId]);
  return searchsetOf(
    {
      meta: completenessMeta(standing),
      links: await linksOf(deps, search, undefined),
      total,
    },
    [],
    searchIssues(search.ignored, incompleteness(standing)),
  );
}

/** A search by `_id` without a patient. */
async function searchByIds(
  deps: FhirDeps,
  type: string,
  search: Asked,
  request: FastifyRequest,
) {
  const { ids } = search;
  if (ids === undefined)
    throw new InvalidRequestError([
      {
        path: 'patient',
        message:
          'is required: a search is about one patient (patient=<id>), or has ids (_id=<id>)',
      },
    ]);
  const { id: accountId } = callerOf(request).account;
  const { byPatient, recorded } = await deps.store.asAccount(
    accountId,
    async (tx) => ({
      byPatient: await placesOfIds(tx, type, ids),
      recorded: type === 'Consent' ? await readRecordedConsents(tx, ids) : [],
    }),
  );
  const consents = recorded.filter(({ resource }) =>
    matchesSearch(resource, search),
  );
  const entries = consents.flatMap(({ patientId, resource }) =>
    searchEntriesOf(deps.base, patientId, {
      matches: [resource],
      subset: search.subset,
      withProvenance: false,
    }),
  );
  let total = consents.length;
  let notIncluded = 0;
  const held = new HeldBytes();
  for (const [patientId, own] of byPatient) {
    await deps.records.merge(accountId, patientId);
    const found = await deps.store.asAccount(accountId, async (tx) => {
      const wanted = { ...search, ids: own, count: own.length };
      const matches: ServedResource[] = [];
      // A page comes short when its resources are large.
      for (
        let place: FoundPlace | undefined, isLast = false;
        !isLast;
        isLast = place === undefined
      ) {
        const page = await searchRecord(
          tx,
          { patientId, resourceType: type, request: wanted },
          place,
        );
        matches.push(...page.matches);
        if (!held.take(page.matches)) throw tooLarge();
        place = page.next;
      }
      const { resources: included, leftOut } = await readIncluded(
        tx,
        patientId,
        matches,
        search.include,
        (each) => mayRead(request, each),
      );
      notIncluded += leftOut;
      if (!held.take(included)) throw tooLarge();
      return { matches, included };
    });
    total += found.matches.length;
    entries.push(
      ...searchEntriesOf(deps.base, patientId, {
        ...found,
        subset: search.subset,
        withProvenance: search.withProvenance && mayRead(request, 'Provenance'),
      }),
    );
  }
  const patientIds = [
    ...byPatient.keys(),
    ...consents.map(({ patientId }) => patientId),
  ];
  await deps.audit.write(request, [...new Set(patientIds)]);
  const links = await linksOf(deps, search, undefined);
  return searchsetOf({ links, total }, search.isCountOnly ? [] : entries, [
    ...searchIssues(search.ignored, undefined),
    ...leftOutIssues(notIncluded),
  ]);
}

const tooLarge = () =>
  new InvalidRequestError([
    {
      path: '_id',
      message: `names resources that are together larger than ${HELD_BYTES_MAX / 1_000_000} MB; ask for fewer ids at a time`,
    },
  ]);

async function searchForPatients(deps: FhirDeps, request: FastifyRequest) {
  const { pairs, place } = await openSearchPage<string>(
    deps,
    'Patient',
    pairsOf(request, deps.base),
  );
  const { request: search, faults } = parsePatientSearch(pairs);
  checkSearch(request, { faults, ignored: search.ignored });
  const links = (next?: string) =>
    linksOf(deps, { path: 'Patient', used: search.used }, next);
  const { id: accountId } = callerOf(request).account;
  if (search.isCountOnly) {
    const total = deps.isResponder
      ? 0
      : await deps.store.asAccount(accountId, (tx) =>
          countPatients(tx, search),
        );
    await deps.audit.write(request, []);
    return searchsetOf(
      { links: await links(), total },
      [],
      searchIssues(search.ignored, undefined),
    );
  }
  const { entries, ids, next } = await readMatchingPatients(
    deps,
    request,
    search,
    place,
  );
  const isAll = place === undefined && next === undefined;
  return searchsetOf(
    { links: await links(next), total: isAll ? ids.length : undefined },
    entries,
    searchIssues(search.ignored, undefined),
  );
}

/** A page of the Patients that match, each merged before; audited. */
export async function readMatchingPatients(
  deps: FhirDeps,
  request: FastifyRequest,
  search: PatientCriteria,
  place: string | undefined,
) {
  const { id: accountId } = callerOf(request).account;
  // A network knows whom it asks for, and must not learn who is a patient here:
  // only $match finds one.
  const found = deps.isResponder
    ? []
    : await deps.store.asAccount(accountId, (tx) =>
        searchPatients(tx, search, place),
      );
  const { entries, ids } = await patientEntries(deps, accountId, found, {
    subset: search.subset,
    withProvenance: search.withProvenance && mayRead(request, 'Provenance'),
  });
  await deps.audit.write(request, ids);
  const next =
    found.length === search.count || ids.length < found.length
      ? ids.at(-1)
      : undefined;
  return { entries, ids, next };
}

/**
 * The entries of these Patients, or of the first of them, with their ids: large
 * ones make a short page.
 */
async function patientEntries(
  deps: FhirDeps,
  accountId: string,
  found: readonly string[],
  options: Pick<PatientCriteria, 'withProvenance' | 'subset'>,
) {
  const entries = [];
  const ids = [];
  const held = new HeldBytes();
  for (const patientId of found) {
    await deps.records.merge(accountId, patientId);
    const matches = await deps.store.asAccount(accountId, (tx) =>
      readServed(tx, patientId, [{ resourceType: 'Patient', id: patientId }]),
    );
    entries.push(
      ...searchEntriesOf(deps.base, patientId, { matches, ...options }),
    );
    ids.push(patientId);
    if (!held.take(matches)) break;
  }
  return { entries, ids };
}

/** @throws NotFoundError */
export async function requirePatient(
  { store }: FhirDeps,
  accountId: string,
  patientId: string,
): Promise<void> {
  orNotFound(
    'Patient',
    await store.asAccount(accountId, (tx) => findPatient(tx, patientId)),
  );
}

/**
 * The number of matches of a search. Reads page by page, each in a transaction
 * of its own; without criteria only counts.
 */
async function countMatches(
  store: Pick<Store, 'asAccount'>,
  accountId: string,
  of: { patientId: string; resourceType: string; request: SearchRequest },
): Promise<number> {
  const { patientId, resourceType, request } = of;
  const isAll =
    request.clauses.length === 0 &&
    request.lastUpdated.length === 0 &&
    request.ids === undefined;
  if (isAll && resourceType !== 'Consent') {
    const counts = await store.asAccount(accountId, (tx) =>
      countConsolidated(tx, patientId, { types: [resourceType] }),
    );
    return counts[resourceType] ?? 0;
  }
  let total = 0;
  let after: SearchPlace | undefined;
  do {
    const page = await store.asAccount(accountId, (tx) =>
      searchServed(
        tx,
        { ...of, request: { ...request, count: COUNT_MAX } },
        after,
      ),
    );
    total += page.matches.length;
    after = page.next;
  } while (after !== undefined);
  return total;
}

/**
 * What one answer holds at once, as JSON: an answer without pages is refused
 * beyond it, a page comes short.
 */
const HELD_BYTES_MAX = 20_000_000;

/** Counts what an answer holds. */
class HeldBytes {
  #bytes = 0;

  /** Whether the answer may hold more after these. */
  take(resources: readonly ServedResource[]): boolean {
    for (const { json } of resources)
      this.#bytes += JSON.stringify(json).length;
    return this.#bytes <= HELD_BYTES_MAX;
  }
}
