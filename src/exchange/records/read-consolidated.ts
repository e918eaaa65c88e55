import type { FhirResource } from 'fhir/r4.js';
import type { RecordSource } from '../../contract/primitives.ts';
import { findPatient } from '../patients/patient-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { NotFoundError } from '../platform/errors.ts';
import {
  countLeading,
  type RecordMember,
  readLeading,
  readMembers,
  resolveTargets,
  type SourceTarget,
} from './record-store.ts';
import { foldGroup, type Member } from './rules/fold.ts';
import { foldPatient } from './rules/fold-patient.ts';
import { localTarget, referencesIn } from './rules/references.ts';
import type { Resolve } from './rules/rewritten.ts';
import { readSourcePatientIds } from './source-patient-store.ts';

/** What of a record is wanted; without any of it, all. `docs/merge.md` says which date counts for which type. */
export interface ConsolidatedFilter {
  /** FHIR resource types. `Patient` comes only when it is named, or when there are no types. */
  types?: readonly string[];
  /** YYYY-MM-DD, inclusive. Undated resources are kept. */
  dateFrom?: string;
  /** YYYY-MM-DD, inclusive. */
  dateTo?: string;
}

/** One delivery that a consolidated resource was made of. */
export interface Origin {
  source: RecordSource;
  /** The id that the source gave it. */
  sourceId: string;
  /** Name of the document it came in: what `meta.source` says, and what E14 takes. */
  fileName: string;
  collectedAt: Date;
  /** Made from a C-CDA document. */
  isConverted: boolean;
}

export interface ConsolidatedResource {
  id: string;
  resourceType: string;
  /**
   * FHIR R4 under our ids, keys in canonical order. References lead to consolidated resources or are logical ones
   * (`identifier`, `display`); `meta.source` is the file name of the leading origin.
   */
  content: FhirResource;
  /** The leading one first; none for a Patient whom no source delivered. */
  origins: Origin[];
}

/** Where a page ended; opaque, plain JSON. */
export interface ConsolidatedPlace {
  resourceType: string;
  sortDate: string;
  id: string;
}

export interface ConsolidatedPage {
  resources: ConsolidatedResource[];
  /** Undefined after the last page. */
  next?: ConsolidatedPlace;
}

/**
 * Up to `count` resources of a patient's consolidated record after `after`: the Patient first (beside the `count`), then
 * by type, newest first within a type (undated last). Bring the record up to date first (`RecordKeeper.merge`). Pages are read one by
 * one, each in a transaction of its own, so that nobody slow holds a connection.
 *
 * @throws NotFoundError when there is no such patient
 */
export async function readConsolidated(
  tx: AccountTx,
  patientId: string,
  filter: ConsolidatedFilter,
  after: ConsolidatedPlace | undefined,
  count: number,
): Promise<ConsolidatedPage> {
  const leading = await readLeading(tx, patientId, filter, after, count);
  const withPatient = after === undefined && hasPatient(filter);
  const ids = leading.map(({ id }) => id);
  const members = await readMembers(tx, patientId, withPatient ? [patientId, ...ids] : ids);
  const byResource = groupByResource(members);
  const resolve = await resolver(tx, patientId, members);
  const resources = leading.flatMap(({ id, resourceType }) => {
    // None when a merge has just given it another id: whoever reads on finds it there.
    const own = byResource.get(id) ?? [];
    return own.length === 0
      ? []
      : [consolidated(id, resourceType, own, foldGroup(id, own, patientId, resolve))];
  });
  const patient = withPatient
    ? [await consolidatedPatient(tx, patientId, byResource.get(patientId) ?? [], resolve)]
    : [];
  const last = leading.at(-1);
  return {
    resources: [...patient, ...resources],
    ...(leading.length === count && last !== undefined ? { next: last } : {}),
  };
}

/** How many resources of each type a read with this filter gives. */
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

async function consolidatedPatient(
  tx: AccountTx,
  patientId: string,
  members: readonly RecordMember[],
  resolve: Resolve,
): Promise<ConsolidatedResource> {
  const person = await findPatient(tx, patientId);
  if (person === undefined) throw new NotFoundError('Patient');
  return consolidated(
    patientId,
    'Patient',
    members,
    foldPatient({ ...person, patientId, externalId: person.externalId ?? undefined }, members, resolve),
  );
}

function consolidated(
  id: string,
  resourceType: string,
  members: readonly RecordMember[],
  content: object,
): ConsolidatedResource {
  const origins = members.map(({ source, sourceId, fileName, collectedAt, isConverted }) => ({
    source,
    sourceId,
    fileName,
    collectedAt,
    isConverted,
  }));
  return { id, resourceType, content: content as FhirResource, origins };
}

function groupByResource(members: readonly RecordMember[]): Map<string, RecordMember[]> {
  const byResource = new Map<string, RecordMember[]>();
  for (const member of members) {
    const own = byResource.get(member.resourceId);
    if (own === undefined) byResource.set(member.resourceId, [member]);
    else own.push(member);
  }
  return byResource;
}

/** Looks up at once all that these deliveries refer to. */
async function resolver(
  tx: AccountTx,
  patientId: string,
  members: readonly (Member & { source: RecordSource })[],
): Promise<Resolve> {
  const patientIds = await readSourcePatientIds(tx, patientId);
  const targets = new Map<string, SourceTarget>();
  for (const { source, content } of members) {
    for (const reference of referencesIn(content)) {
      const target = localTarget(reference);
      if (target !== undefined && target.type !== 'Patient') {
        targets.set(nameOf(source, target), { source, ...target });
      }
    }
  }
  const found = await resolveTargets(tx, patientId, [...targets.values()]);
  const ids = new Map(found.map((target) => [nameOf(target.source, target), target.resourceId]));
  return (source, target) => {
    if (target.type !== 'Patient') return ids.get(nameOf(source, target));
    // Whom a source was asked about was not always recorded; its collection let nobody else in.
    return (patientIds.get(source)?.has(target.id) ?? true) ? patientId : undefined;
  };
}

const nameOf = (source: string, { type, id }: { type: string; id: string }): string =>
  `${source} ${type}/${id}`;
