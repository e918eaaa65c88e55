import { sql } from 'kysely';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { FHIR_PATH } from '../../platform/http/fhir-path.ts';
import { incompleteness, readRecordCompleteness } from '../../records/reading/completeness.ts';
import { type ConsolidatedPlace, readConsolidated } from '../../records/reading/read-consolidated.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { withAddressesAt } from '../../records/rules/attachment-addresses.ts';
import type { Json } from '../../records/rules/json.ts';
import {
  asServed,
  readSomeServed,
  type ServedResource,
  servedProvenance,
} from '../fhir-api/served-resources.ts';
import type { ExportMember } from './export-store.ts';
import type { FileKind } from './rules/export-request.ts';
import type { ResourceFilter } from './rules/resource-filter.ts';

/** One line of a file. */
export interface ExportLine {
  kind: FileKind;
  resourceType: string;
  json: Json;
}

/** Lines of one patient, and the place after them; without a place, the patient is finished. */
export interface ExportPage {
  lines: ExportLine[];
  next?: ConsolidatedPlace;
}

const RESOURCES_PER_PAGE = 200;

export interface PatientReaderDeps {
  store: Pick<Store, 'asAccount'>;
  records: RecordKeeper;
  publicBaseUrl: string;
}

/** Yields what an export contains of a patient, page by page. Yields nothing when the patient no longer exists. */
export async function* readPatient(
  deps: PatientReaderDeps,
  of: { accountId: string; member: ExportMember; filter: ResourceFilter; since: Date | null },
  start: ConsolidatedPlace | undefined,
): AsyncGenerator<ExportPage> {
  const { accountId, member, filter, since } = of;
  const { patientId } = member;
  const fhirBase = `${deps.publicBaseUrl}${FHIR_PATH}`;
  const inTx = <T>(work: (tx: AccountTx) => Promise<T>) => deps.store.asAccount(accountId, work);
  if ((await inTx((tx) => findPatient(tx, patientId))) === undefined) return;
  if (start === undefined) await deps.records.merge(accountId, patientId);
  const changes =
    since === null || member.isWhole ? undefined : await inTx((tx) => readChanges(tx, patientId, since));
  // What refers to a resource that has gone has changed as well, so everything comes again.
  if (since !== null && changes !== undefined && changes.gone.length === 0) {
    const { readTypes } = filter;
    const changed = changes.changed.filter(({ resourceType }) => readTypes?.includes(resourceType) !== false);
    for (let from = 0; from < changed.length; ) {
      const own = changed.slice(from, from + RESOURCES_PER_PAGE);
      const { served, read } = await inTx((tx) => readSomeServed(tx, patientId, own));
      from += read;
      // The Patient also changes with the caller's demographics.
      yield {
        lines: linesOf(
          served.filter(({ changedAt }) => changedAt > since),
          patientId,
          filter,
          fhirBase,
        ),
      };
    }
    yield { lines: await inTx((tx) => notesOf(tx, patientId)) };
    return;
  }
  let after = start;
  do {
    const { page, next, notes } = await inTx(async (tx) => {
      const read = await readConsolidated(
        tx,
        patientId,
        { types: filter.readTypes },
        after,
        RESOURCES_PER_PAGE,
      );
      return {
        page: await asServed(tx, patientId, read.resources),
        next: read.next,
        notes: after === undefined ? await notesOf(tx, patientId) : [],
      };
    });
    const deleted = after === undefined && changes !== undefined ? deletedLines(changes.gone, filter) : [];
    yield { lines: [...notes, ...deleted, ...linesOf(page, patientId, filter, fhirBase)], next };
    after = next;
  } while (after !== undefined);
}

function linesOf(
  resources: readonly ServedResource[],
  patientId: string,
  filter: ResourceFilter,
  fhirBase: string,
): ExportLine[] {
  return resources.flatMap((resource): ExportLine[] => {
    const { resourceType, changedAt } = resource;
    const json = withAddressesAt(fhirBase, resource.json);
    const isWanted = filter.matches(resourceType, json, changedAt);
    const provenance =
      filter.hasType('Provenance') && (isWanted || !filter.hasType(resourceType))
        ? servedProvenance(resource, patientId)
        : undefined;
    return [
      ...(isWanted ? [{ kind: 'output', resourceType, json } as const] : []),
      ...(provenance === undefined
        ? []
        : [{ kind: 'output', resourceType: 'Provenance', json: provenance } as const]),
    ];
  });
}

interface Changes {
  changed: { resourceType: string; id: string }[];
  gone: { resourceType: string; id: string }[];
}

async function readChanges(tx: AccountTx, patientId: string, since: Date): Promise<Changes> {
  const rows = await tx.db
    .selectFrom('record_resource')
    .select(['resource_type as resourceType', 'resource_id as id', 'gone_at as goneAt'])
    .where('patient_id', '=', patientId)
    .where('changed_at', '>', since)
    .where('resource_id', '<>', patientId)
    .orderBy(sql`resource_type collate "C"`)
    .orderBy('resource_id')
    .execute();
  return {
    changed: [{ resourceType: 'Patient', id: patientId }, ...rows.filter(({ goneAt }) => goneAt === null)],
    gone: rows.filter(({ goneAt }) => goneAt !== null),
  };
}

/** One transaction Bundle that deletes what has gone (Bulk Data Access, "deleted"). */
function deletedLines(gone: Changes['gone'], filter: ResourceFilter): ExportLine[] {
  const entry = gone
    .filter(({ resourceType }) => filter.hasType(resourceType))
    .map(({ resourceType, id }) => ({ request: { method: 'DELETE', url: `${resourceType}/${id}` } }));
  if (entry.length === 0) return [];
  const json = { resourceType: 'Bundle', type: 'transaction', entry };
  return [{ kind: 'deleted', resourceType: 'Bundle', json }];
}

/** Says that a record is incomplete. */
async function notesOf(tx: AccountTx, patientId: string): Promise<ExportLine[]> {
  const sentence = incompleteness(await readRecordCompleteness(tx, patientId));
  if (sentence === undefined) return [];
  const issue = [
    { severity: 'warning', code: 'incomplete', diagnostics: `Patient/${patientId}: ${sentence}` },
  ];
  const json = { resourceType: 'OperationOutcome', issue };
  return [{ kind: 'error', resourceType: 'OperationOutcome', json }];
}
