import { setImmediate } from 'node:timers/promises';
import type { FhirResource } from 'fhir/r4.js';
import { sql } from 'kysely';
import type { Json } from '#record-summary/fhir';
import type { RecordSource } from '../../../contract/primitives.ts';
import { fhirJson } from '../../../lib/written-decimals.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { FHIR_PATH } from '../../platform/http/operation-outcome.ts';
import {
  listedDocuments,
  readSourcePatientIds,
} from '../deliveries/delivery-store.ts';
import {
  type HeldDocument,
  withAddressesAt,
  withOurAddresses,
} from '../rules/attachment-addresses.ts';
import { attachmentsIn, fileKeyOf } from '../rules/attachments.ts';
import { foldGroup, type Member } from '../rules/fold.ts';
import { foldPatient } from '../rules/fold-patient.ts';
import { isOfMessage } from '../rules/ids.ts';
import {
  type ProvenanceOrigin,
  provenanceOf,
  statedOn,
} from '../rules/provenance.ts';
import {
  parseLocalReference,
  type Resolve,
  referencesIn,
} from '../rules/references.ts';
import { ConformanceCount, inUsCore } from '../rules/us-core/us-core.ts';
import { completenessMeta, readRecordCompleteness } from './completeness.ts';
import {
  type ConsolidatedFilter,
  type ConsolidatedPlace,
  countLeading,
  type RecordMember,
  readLeading,
  readMembers,
  resolveReferences,
  type SourceReference,
} from './record-store.ts';

export type { ConsolidatedFilter, ConsolidatedPlace };

export interface Origin extends ProvenanceOrigin {
  /** FHIR dateTime of the document that it was converted from. */
  statedOn?: string;
}

export interface ConsolidatedResource {
  id: string;
  resourceType: string;
  /**
   * FHIR R4 with our ids and keys in canonical order. References point to
   * consolidated resources or are logical (`identifier`, `display`);
   * `meta.source` is the file name of the leading origin. A stored document's
   * address is relative to the FHIR API (`Binary/<id>`).
   */
  content: FhirResource;
  /** The leading origin first; empty for a Patient that no source delivered. */
  origins: Origin[];
}

export interface ConsolidatedPage {
  resources: ConsolidatedResource[];
  /** What their deliveries may have as text. */
  bytes: number;
  /** Undefined after the last page. */
  next?: ConsolidatedPlace;
}

/**
 * Returns up to `count` resources of a patient's consolidated record after
 * `after`, fewer where they are large: the Patient first (in addition to
 * `count`), then by type, newest first within a type, undated last. Call
 * `RecordKeeper.merge` before. Read each page in a transaction of its own, so
 * that a slow reader does not hold a connection.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function readConsolidated(
  tx: AccountTx,
  patientId: string,
  filter: ConsolidatedFilter,
  after: ConsolidatedPlace | undefined,
  count: number,
): Promise<ConsolidatedPage> {
  const { resources, ...page } = await loadPage(
    tx,
    patientId,
    filter,
    after,
    count,
  );
  return { ...page, resources: [...resources] };
}

/** A page whose resources are folded when they are taken. */
type LoadedPage = Omit<ConsolidatedPage, 'resources'> & {
  resources: Iterable<ConsolidatedResource>;
};

async function loadPage(
  tx: AccountTx,
  patientId: string,
  filter: ConsolidatedFilter,
  after: ConsolidatedPlace | undefined,
  count: number,
): Promise<LoadedPage> {
  const leading = await readLeading(tx, patientId, filter, after, count);
  const withPatient = after === undefined && hasPatient(filter);
  const patient = withPatient
    ? [{ resourceType: 'Patient', id: patientId }]
    : [];
  const { resources, read, bytes } = await readResources(tx, patientId, [
    ...patient,
    ...leading,
  ]);
  const last = leading[read - patient.length - 1];
  const isLast =
    read - patient.length === leading.length && leading.length < count;
  return {
    resources,
    bytes,
    ...(isLast || last === undefined ? {} : { next: last }),
  };
}

/**
 * Reads these consolidated resources, in this order, without those that do not
 * exist. The Patient always exists. Reads fewer when they are too large to hold
 * at once, and at least one. Each is folded when it is taken, which needs the
 * transaction no longer.
 *
 * @returns with `read`, the number of them that were read, and `bytes`, what
 *   their deliveries may have as text
 * @throws NotFoundError when the patient does not exist
 */
export async function readResources(
  of: AccountTx,
  patientId: string,
  wanted: readonly { resourceType: string; id: string }[],
): Promise<{
  resources: Iterable<ConsolidatedResource>;
  read: number;
  bytes: number;
}> {
  const tx = { ...of, db: of.db.together };
  const ids = wanted.map(({ id }) => id);
  const [{ members, read, bytes }, patientIds, person] = await Promise.all([
    readMembers(tx, patientId, ids),
    readSourcePatientIds(tx, patientId),
    ids.includes(patientId) ? findPatient(tx, patientId) : undefined,
  ]);
  if (ids.includes(patientId) && person === undefined)
    throw new NotFoundError('Patient');
  const [resolve, held] = await Promise.all([
    resolver(tx, patientId, members, patientIds),
    documentsOf(tx, patientId, members),
  ]);
  const byResource = Map.groupBy(members, ({ resourceId }) => resourceId);
  return { resources: fold(), read, bytes };

  function* fold(): Generator<ConsolidatedResource> {
    for (const { id, resourceType } of wanted.slice(0, read)) {
      const own = byResource.get(id) ?? [];
      const standing = own.filter(({ isSuperseded }) => !isSuperseded);
      if (id === patientId && person !== undefined) {
        const known = {
          ...person,
          patientId,
          externalId: person.externalId ?? undefined,
        };
        yield consolidated(
          id,
          'Patient',
          own,
          foldPatient(known, own, resolve),
        );
      }
      // Empty when a concurrent merge has just changed the resource's id; a
      // later page contains it.
      else if (own.length > 0) {
        const content = foldGroup(id, standing, patientId, resolve);
        yield consolidated(
          id,
          resourceType,
          own,
          withOurAddresses(content, held(standing)),
        );
      }
    }
  }
}

/**
 * Finds the stored files of resources with attachments: those of the delivery
 * that the attachments are taken from, the first one that has any.
 */
async function documentsOf(
  tx: AccountTx,
  patientId: string,
  members: readonly RecordMember[],
): Promise<(own: readonly RecordMember[]) => readonly HeldDocument[]> {
  const having = new Set(members.filter(hasAttachments));
  const held = await readHeldDocuments(tx, patientId, [...having].map(ownerOf));
  return (own) => {
    const taken = own.find((member) => having.has(member));
    return taken === undefined ? [] : (held.get(heldKey(ownerOf(taken))) ?? []);
  };
}

const hasAttachments = ({ content }: RecordMember): boolean =>
  attachmentsIn(content as unknown as Json).length > 0;

const ownerOf = ({
  source,
  sourceId: id,
  content: { resourceType },
}: RecordMember): FileOwner => ({
  source,
  key: fileKeyOf({ resourceType: String(resourceType), id }),
});

/** The number of resources per type that match the filter. */
export async function countConsolidated(
  tx: AccountTx,
  patientId: string,
  filter: ConsolidatedFilter,
): Promise<Record<string, number>> {
  const counts = await countLeading(tx, patientId, filter);
  return Object.fromEntries([
    ...(hasPatient(filter) ? [['Patient', 1] as const] : []),
    ...counts.map(({ resourceType, count }) => [resourceType, count] as const),
  ]);
}

const hasPatient = ({ types }: ConsolidatedFilter): boolean =>
  types === undefined || types.includes('Patient');

function consolidated(
  id: string,
  resourceType: string,
  members: readonly RecordMember[],
  content: object,
): ConsolidatedResource {
  const origins = members.map(
    ({
      source,
      sourceId,
      fileName,
      collectedAt,
      isConverted,
      isSuperseded,
      content: stated,
    }) => ({
      source,
      sourceId,
      fileName,
      collectedAt,
      isConverted,
      statedOn: statedOn(stated),
      superseded: isSuperseded ? stated : undefined,
    }),
  );
  return { id, resourceType, content: content as FhirResource, origins };
}

/** Resolves the references of all these deliveries with one query. */
async function resolver(
  tx: AccountTx,
  patientId: string,
  members: readonly (Member & { source: RecordSource })[],
  patientIds: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<Resolve> {
  const targets = new Map<string, SourceReference>();
  for (const { source, content } of members) {
    for (const reference of referencesIn(content)) {
      const target = parseLocalReference(reference);
      if (target === undefined || target.type === 'Patient') continue;
      const sources = isOfMessage(target.id) ? OF_MESSAGES : [source];
      for (const each of sources)
        targets.set(sourceReference(each, target), { source: each, ...target });
    }
  }
  const found = await resolveReferences(tx, patientId, [...targets.values()]);
  const ids = new Map(
    found.map((target) => [
      sourceReference(target.source, target),
      target.mayLeave ? target.resourceId : null,
    ]),
  );
  return (source, target) => {
    if (target.type !== 'Patient') {
      const sources = isOfMessage(target.id) ? OF_MESSAGES : [source];
      return sources
        .map((each) => ids.get(sourceReference(each, target)))
        .find((id) => id !== undefined);
    }
    // Older queries did not record Patient ids; collection kept only resources
    // of this patient.
    return (patientIds.get(source)?.has(target.id) ?? true)
      ? patientId
      : undefined;
  };
}

/**
 * What a message reports is recorded under one of these, and may refer to what
 * another reported: the report of a laboratory to its order.
 */
const OF_MESSAGES: readonly RecordSource[] = ['hie', 'pharmacy', 'lab'];

const sourceReference = (
  source: string,
  { type, id }: { type: string; id: string },
): string => `${source} ${type}/${id}`;

/** The resource at a source that has a file. */
interface FileOwner {
  source: RecordSource;
  /** `fileKeyOf` */
  key: string;
}

/**
 * The stored files of these resources that may be given out; by `heldKey`.
 */
async function readHeldDocuments(
  tx: AccountTx,
  patientId: string,
  owners: readonly FileOwner[],
): Promise<Map<string, HeldDocument[]>> {
  if (owners.length === 0) return new Map();
  const keys = [...new Set(owners.map(({ key }) => key))];
  const { rows } = await sql<HeldDocument & FileOwner>`
    select id, source, source_document_id as key, content_type as "contentType", size_bytes as "sizeBytes",
      encode(sha256, 'hex') as sha256
    from ${listedDocuments(patientId, sql`and d.source_document_id = any(${keys})`)} as d
    order by id`.execute(tx.db);
  return Map.groupBy(rows, heldKey);
}

const heldKey = ({ source, key }: FileOwner): string => `${source} ${key}`;

const RESOURCES_PER_PAGE = 1_000;
const FOLDED_AT_ONCE = 100;

/** Whose record is read, and which part of it. */
export interface WantedRecord {
  accountId: string;
  patientId: string;
  filter?: ConsolidatedFilter;
}

/**
 * The pages of a patient's consolidated record, each read in a transaction of
 * its own, so that a slow reader holds no connection, and while the one before
 * is worked on.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function* consolidatedPages(
  store: Pick<Store, 'asAccount'>,
  { accountId, patientId, filter = {} }: WantedRecord,
): AsyncGenerator<ConsolidatedPage> {
  const pageAfter = (after?: ConsolidatedPlace): Promise<LoadedPage> => {
    const page = store.asAccount(accountId, (tx) =>
      loadPage(tx, patientId, filter, after, RESOURCES_PER_PAGE),
    );
    // A reader that stops early does not wait for it; for any other one it
    // fails where it is awaited.
    page.catch(() => undefined);
    return page;
  };
  let coming: Promise<LoadedPage> | undefined = pageAfter();
  while (coming !== undefined) {
    const page: LoadedPage = await coming;
    coming = page.next && pageAfter(page.next);
    const resources: ConsolidatedResource[] = [];
    for (const each of page.resources) {
      // So that the statements of the next page leave, and other requests get
      // their turn.
      if (resources.length % FOLDED_AT_ONCE === 0) await setImmediate();
      resources.push(each);
    }
    yield { ...page, resources };
  }
}

/** The resources of these pages. */
export async function* consolidatedResources(
  store: Pick<Store, 'asAccount'>,
  of: WantedRecord,
): AsyncGenerator<ConsolidatedResource> {
  for await (const { resources } of consolidatedPages(store, of))
    yield* resources;
}

/**
 * Counts how a patient's record conforms to US Core. Call `RecordKeeper.merge`
 * before.
 */
export async function countConformance(
  store: Pick<Store, 'asAccount'>,
  of: WantedRecord,
): Promise<ConformanceCount> {
  const count = new ConformanceCount();
  for await (const { content, origins } of consolidatedResources(store, of))
    count.add(content as unknown as Json, origins[0]?.source);
  return count;
}

/** What is yielded resource by resource costs as much again. */
const PIECE_CHARACTERS = 64 * 1024;

export interface BundleOptions extends WantedRecord {
  /**
   * Each entry's fullUrl is the resource's address on our FHIR API, so that
   * relative references resolve to entries.
   */
  publicBaseUrl: string;
  /** In a searchset each entry also has `search.mode`. */
  type?: 'collection' | 'searchset';
}

/**
 * Yields a patient's consolidated record as the JSON text of a FHIR Bundle, in
 * pieces and in bounded memory: the Patient first, then the resources, each
 * followed by its Provenance (with `types`, only if they include `Provenance`).
 * `meta` states how complete the record is.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function* consolidatedBundle(
  store: Pick<Store, 'asAccount'>,
  {
    accountId,
    patientId,
    filter = {},
    publicBaseUrl,
    type = 'collection',
  }: BundleOptions,
): AsyncGenerator<string> {
  const withProvenance =
    filter.types === undefined || filter.types.includes('Provenance');
  // Read first, so that data which arrives while we read is reported as still
  // missing.
  const standing = await store.asAccount(accountId, (tx) =>
    readRecordCompleteness(tx, patientId),
  );
  const meta = JSON.stringify(completenessMeta(standing));
  const mode = (why: 'match' | 'include') =>
    type === 'searchset' ? why : undefined;
  let text = `{"resourceType":"Bundle","meta":${meta},"type":"${type}","timestamp":"${new Date().toISOString()}"`;
  let separator = ',"entry":[';
  for await (const { resources } of consolidatedPages(store, {
    accountId,
    patientId,
    filter,
  }))
    for (const resource of resources) {
      text += `${separator}${entryOf(publicBaseUrl, inUsCore(resource.content as unknown as Json), mode('match'))}`;
      separator = ',';
      const hasProvenance =
        resource.origins.length > 0 && resource.resourceType !== 'Provenance';
      if (withProvenance && hasProvenance)
        text += `,${entryOf(publicBaseUrl, provenanceOf(resource, patientId), mode('include'))}`;
      if (text.length < PIECE_CHARACTERS) continue;
      yield text;
      text = '';
    }
  // FHIR forbids empty arrays.
  yield separator === ',' ? `${text}]}` : `${text}}`;
}

function entryOf(
  publicBaseUrl: string,
  content: Json,
  mode?: 'match' | 'include',
): string {
  const base = `${publicBaseUrl}${FHIR_PATH}`;
  const resource = withAddressesAt(base, content);
  const { resourceType, id } = resource;
  const search = mode === undefined ? '' : `,"search":{"mode":"${mode}"}`;
  return `{"fullUrl":${JSON.stringify(`${base}/${String(resourceType)}/${String(id)}`)},"resource":${fhirJson(resource)}${search}}`;
}
