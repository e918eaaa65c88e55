import { sql } from 'kysely';
import { meaningOf } from '#record-summary/fhir';
import type { AccountTx } from '../../platform/database/database.ts';
import { readSourcePatientIds } from '../deliveries/delivery-store.ts';
import { noteToPack } from '../packing/packing-store.ts';
import {
  type Delivery,
  type DeliveryFacts,
  deliveryFacts,
  medicationIdOf,
} from '../rules/delivery-facts.ts';
import { groupByKeys } from '../rules/grouping.ts';
import { generatedProvenanceId } from '../rules/provenance.ts';
import {
  type DeliveryPlace,
  deleteOrigins,
  dependentsOf,
  type KnownOrigin,
  type RecordKey,
  readAffected,
  readDeliveries,
  readOrigins,
  unpackOrigins,
  upsertOrigins,
  writeKeys,
} from './merge-store.ts';

/**
 * Increase when a change in `rules/` changes which deliveries are grouped:
 * every record is then merged again.
 */
export const MERGE_RULES = 13;

/**
 * Merges these deliveries into a patient's record. The caller holds the
 * record's lock in the same transaction.
 *
 * The groups of a record depend only on its set of deliveries. Only families
 * that contain a changed delivery, or share a key with one, are regrouped; no
 * two families share a key, so no other family can change.
 */
export async function mergeBatch(
  tx: AccountTx,
  patientId: string,
  places: readonly DeliveryPlace[],
): Promise<void> {
  await unpackOrigins(tx, patientId);
  const medications = places.filter(
    ({ resourceType }) => resourceType === 'Medication',
  );
  const changed = uniquePlaces([
    ...places,
    ...(await dependentsOf(tx, patientId, medications)),
  ]);
  const facts = await newFacts(
    tx,
    patientId,
    await readDeliveries(tx, patientId, changed),
  );

  const before = await readOrigins(tx, patientId, changed);
  const touched = await readAffected(
    tx,
    patientId,
    before.flatMap(({ familyId }) => familyId ?? []),
    facts.flatMap(({ resourceType, keys }) =>
      keys.map((key) => ({ resourceType, key })),
    ),
  );
  const isChanged = new Set(changed.map(deliveryName));
  const others = [
    ...new Map(
      touched.map((origin) => [deliveryName(origin), origin]),
    ).values(),
  ].filter((origin) => !isChanged.has(deliveryName(origin)));
  const after = regroup(patientId, [...facts, ...others]);

  const present = new Set(facts.map(deliveryName));
  await deleteOrigins(
    tx,
    patientId,
    before.filter((origin) => !present.has(deliveryName(origin))),
  );
  const otherBefore = new Map(
    others.map((origin) => [deliveryName(origin), origin]),
  );
  const written = after.filter((origin) => {
    const known = otherBefore.get(deliveryName(origin));
    return (
      known === undefined ||
      known.resourceId !== origin.resourceId ||
      known.familyId !== origin.familyId ||
      known.leads !== origin.leads ||
      known.superseded !== origin.superseded
    );
  });
  await upsertOrigins(tx, patientId, written);
  await writeKeys(tx, patientId, changedKeys([...before, ...others], after));
  await writeResourceChanges(
    tx,
    patientId,
    resourceChanges([...before, ...others], after),
  );
}

/**
 * The merge facts of deliveries, including the code of the Medication that a
 * delivery refers to.
 */
async function newFacts(
  tx: AccountTx,
  patientId: string,
  deliveries: Delivery[],
): Promise<KnownOrigin[]> {
  const patientIds = await readSourcePatientIds(tx, patientId);
  const medicationOf = ({
    source,
    content,
  }: Delivery): DeliveryPlace | undefined => {
    const sourceId = medicationIdOf(content);
    return sourceId === undefined
      ? undefined
      : {
          source: source as DeliveryPlace['source'],
          resourceType: 'Medication',
          sourceId,
        };
  };
  const named = deliveries.flatMap((delivery) => medicationOf(delivery) ?? []);
  const codes = new Map(
    (named.length === 0
      ? []
      : await readDeliveries(tx, patientId, uniquePlaces(named))
    ).map((medication) => [
      deliveryName(medication),
      meaningOf(medication.content.code),
    ]),
  );
  return deliveries.map((delivery) => {
    const medication = medicationOf(delivery);
    const context = {
      patientIds: patientIds.get(delivery.source),
      medication:
        medication === undefined
          ? undefined
          : codes.get(deliveryName(medication)),
    };
    return asOrigin(deliveryFacts(delivery, context));
  });
}

/**
 * Member by member: a copy of "the others" costs several times as much, for
 * each delivery.
 */
function asOrigin(facts: DeliveryFacts): KnownOrigin {
  return {
    resourceType: facts.resourceType,
    sourceId: facts.sourceId,
    sha256: facts.sha256,
    exclusion: facts.exclusion,
    keys: facts.keys,
    assertions: facts.assertions,
    rank: facts.rank,
    medicationId: facts.medicationId,
    sortDate: facts.sortDate,
    search: facts.search,
    source: facts.source as DeliveryPlace['source'],
    rules: MERGE_RULES,
    resourceId: null,
    familyId: null,
    leads: false,
    superseded: false,
    dateFrom: facts.days?.from ?? null,
    dateTo: facts.days?.to ?? null,
  };
}

/**
 * Assigns each delivery the id of its group and family, and whether it leads
 * its group.
 */
function regroup(
  patientId: string,
  origins: readonly KnownOrigin[],
): KnownOrigin[] {
  const grouped = groupByKeys(patientId, origins).flatMap(
    ({ id, familyId, members, standing }) =>
      members.map((member, index) => ({
        ...member,
        resourceId: id,
        familyId,
        leads: index === 0,
        superseded: index >= standing,
      })),
  );
  const excluded = origins.filter(({ keys }) => keys.length === 0);
  return [
    ...grouped,
    ...excluded.map((origin) => ({
      ...origin,
      resourceId: null,
      familyId: null,
      leads: false,
      superseded: false,
    })),
  ];
}

function changedKeys(
  before: readonly KnownOrigin[],
  after: readonly KnownOrigin[],
) {
  const known = keysOf(before);
  const wanted = keysOf(after);
  return {
    gone: [...known]
      .filter(([name]) => !wanted.has(name))
      .map(([, key]) => key),
    written: [...wanted]
      .filter(([name, key]) => known.get(name)?.familyId !== key.familyId)
      .map(([, key]) => key),
  };
}

function keysOf(origins: readonly KnownOrigin[]): Map<string, RecordKey> {
  const keys = new Map<string, RecordKey>();
  for (const { resourceType, familyId, keys: own } of origins) {
    if (familyId === null) continue;
    for (const key of own)
      keys.set(`${resourceType} ${key}`, { resourceType, key, familyId });
  }
  return keys;
}

type Named = Pick<DeliveryFacts, 'source' | 'resourceType' | 'sourceId'>;
const deliveryName = ({ source, resourceType, sourceId }: Named): string =>
  `${source} ${resourceType}/${sourceId}`;

function uniquePlaces(places: readonly DeliveryPlace[]): DeliveryPlace[] {
  return [
    ...new Map(places.map((place) => [deliveryName(place), place])).values(),
  ];
}

/**
 * Records when resources of a patient's record changed or went, and notes it
 * for the FHIR Subscriptions, in one statement. The caller holds the record's
 * lock.
 */
async function writeResourceChanges(
  tx: AccountTx,
  patientId: string,
  { changed, gone }: ResourceChanges,
): Promise<void> {
  const rows = (resources: readonly ResourceChange[], isGone = false) =>
    resources.map(({ resourceType, resourceId }) => ({
      resourceType,
      resourceId,
      provenanceId: generatedProvenanceId(patientId, resourceId),
      isGone,
    }));
  const written = [...rows(changed), ...rows(gone, true)];
  if (written.length === 0) return;
  // clock_timestamp, because now() may be older than another merge that this
  // transaction had to wait for.
  const { rows: answer } = await sql<{ isNoted: boolean }>`
    with written as (insert into record_resource (account_id, patient_id, resource_type, resource_id, provenance_id, changed_at, gone_at)
    select ${tx.accountId}, ${patientId}, n."resourceType", n."resourceId", n."provenanceId", clock_timestamp(),
      case when n."isGone" then clock_timestamp() end
    from json_to_recordset(${JSON.stringify(written)}::json)
      as n("resourceType" text, "resourceId" uuid, "provenanceId" uuid, "isGone" boolean)
    on conflict (patient_id, resource_id) do update
    set changed_at = excluded.changed_at, gone_at = excluded.gone_at
    returning jsonb_build_object('resourceType', resource_type, 'resourceId', resource_id,
      'change', case when gone_at is not null then 'delete' when xmax = 0 then 'create' else 'update' end) as change),
    to_pack as (${noteToPack(tx.accountId, patientId)})
    select note_changes(${tx.accountId}, ${patientId}, jsonb_agg(change)) as "isNoted" from written`.execute(
    tx.db,
  );
  if (answer[0]?.isNoted) tx.hasNewChanges = true;
}

/** What is compared of a delivery before and after a merge. */
export interface MergedDelivery {
  source: string;
  resourceType: string;
  sourceId: string;
  sha256: string;
  resourceId: string | null;
  leads: boolean;
  superseded: boolean;
}

interface ResourceChange {
  resourceType: string;
  resourceId: string;
}

interface ResourceChanges {
  /** Resources that have other deliveries than before, or changed ones. */
  changed: ResourceChange[];
  /** Resources that no longer exist. */
  gone: ResourceChange[];
}

/**
 * The consolidated resources that a merge created, changed or removed. Both
 * lists contain all deliveries of their resources.
 */
function resourceChanges(
  before: readonly MergedDelivery[],
  after: readonly MergedDelivery[],
): ResourceChanges {
  const known = contentsOf(before);
  const wanted = contentsOf(after);
  return {
    changed: [...wanted.values()].filter(
      ({ resourceId, content }) => known.get(resourceId)?.content !== content,
    ),
    gone: [...known.values()].filter(
      ({ resourceId }) => !wanted.has(resourceId),
    ),
  };
}

interface Contents extends ResourceChange {
  content: string;
}

function contentsOf(
  deliveries: readonly MergedDelivery[],
): Map<string, Contents> {
  const lines = new Map<string, { resourceType: string; lines: string[] }>();
  for (const {
    source,
    resourceType,
    sourceId,
    sha256,
    resourceId,
    leads,
    superseded,
  } of deliveries) {
    if (resourceId === null) continue;
    const own = lines.get(resourceId) ?? { resourceType, lines: [] };
    lines.set(resourceId, own);
    own.lines.push([source, sourceId, sha256, leads, superseded].join(' '));
  }
  return new Map(
    [...lines].map(([resourceId, own]) => [
      resourceId,
      {
        resourceId,
        resourceType: own.resourceType,
        content: own.lines.sort().join('\n'),
      },
    ]),
  );
}
