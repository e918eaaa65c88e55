import { sql } from 'kysely';
import type { Json } from '#record-summary/fhir';
import { ViewError } from '#sql-on-fhir';
import type {
  BulkExportInput,
  BulkExportProgress,
} from '../../../contract/bulk-export-workflow.ts';
import { readAhead } from '../../../lib/read-ahead.ts';
import { fhirJson } from '../../../lib/written-decimals.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { FHIR_PATH } from '../../platform/http/operation-outcome.ts';
import {
  incompleteness,
  readRecordCompleteness,
} from '../../records/reading/completeness.ts';
import {
  type ConsolidatedPlace,
  readConsolidated,
} from '../../records/reading/read-consolidated.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { withAddressesAt } from '../../records/rules/attachment-addresses.ts';
import {
  asServed,
  readSomeServed,
  type ServedResource,
  servedProvenance,
} from '../fhir-api/search-record.ts';
import {
  commitSlice,
  type ExportMember,
  endExport,
  findExport,
  listExportPatients,
  readExportMembers,
  type StoredExport,
  type WrittenSlice,
} from './export-store.ts';
import {
  type ExportFileKind,
  type ResourceFilter,
  resourceFilter,
} from './rules/export-request.ts';
import { ndjsonOf, type SliceFile, type SliceTexts } from './rules/files.ts';
import { completenessResource, queryResources } from './views/own-resources.ts';
import { createTableMaker, type TableMaker } from './views/table-maker.ts';

/** Writes the files of exports, slice by slice. */
export interface ExportRunner {
  listPatients(of: BulkExportInput): Promise<BulkExportProgress>;
  /** Where the export is now, as a text that changes with each slice. */
  checkpoint(of: BulkExportInput): Promise<string>;
  /**
   * Writes slices until the export has ended or some time has passed. Continues
   * after the last committed slice.
   */
  writeSlices(
    of: BulkExportInput,
    signal?: AbortSignal,
  ): Promise<BulkExportProgress>;
  /**
   * Ends the export as failed, unless it has already ended. @param reason shown
   * to the caller
   */
  fail(of: BulkExportInput, reason: string): Promise<BulkExportProgress>;
}

/** A page of a patient's record, or that the patient is finished. */
type Read =
  | { member: ExportMember; page: ExportPage }
  | { member: ExportMember; isMissing: boolean };

/**
 * A slice ends with the page that makes it this large, or with this many
 * patients: what is repeated after a crash.
 */
const SLICE = { bytes: 8_000_000, patients: 200 };
const STEP_MS = 30_000;

export function createExportRunner(deps: {
  store: Store;
  blobs: BlobStore;
  records: RecordKeeper;
  idHmacKey: string;
  publicBaseUrl: string;
  /** For tests: smaller slices. */
  slice?: typeof SLICE;
  tablesOf?: TableMaker;
}): ExportRunner {
  const {
    store,
    blobs,
    slice: size = SLICE,
    tablesOf = createTableMaker(deps),
  } = deps;
  const find = ({ accountId, exportId }: BulkExportInput) =>
    store.asAccount(accountId, (tx) => findExport(tx, exportId));

  /**
   * Everything that is still to be written, page by page. Does not depend on
   * when it is read, but for changes of the records.
   */
  async function* readRest(
    accountId: string,
    row: StoredExport,
  ): AsyncGenerator<Read> {
    const filter = resourceFilter(row.types, row.type_filters);
    const { id, since } = row;
    let { done } = row;
    let start = row.place ?? undefined;
    for (;;) {
      const members = await store.asAccount(accountId, (tx) =>
        readExportMembers(tx, id, done, size.patients),
      );
      if (members.length === 0) return;
      for (const member of members) {
        let isMissing = start === undefined;
        for await (const page of readExportOfPatient(
          deps,
          { accountId, member, filter, since },
          start,
        )) {
          isMissing = false;
          yield { member, page };
        }
        yield { member, isMissing };
        start = undefined;
        done = member.ordinal;
      }
    }
  }

  /** Takes one slice from what is still to be written. */
  async function takeSlice(
    rest: AsyncGenerator<Read>,
    row: StoredExport,
    signal?: AbortSignal,
  ) {
    const lines = new SliceLines();
    const patientIds: string[] = [];
    const missingOrdinals: number[] = [];
    const sliceOf = (
      done: number,
      end: { place?: ConsolidatedPlace; isLast: boolean },
    ) => {
      const { resources } = lines;
      const written = {
        slice: row.slices,
        done,
        place: end.place,
        isLast: end.isLast,
      };
      return {
        lines,
        written: { ...written, patientIds, missingOrdinals, resources },
      };
    };
    let { done } = row;
    for (let finished = 0; finished < size.patients; ) {
      const { value, done: isLast } = await rest.next();
      signal?.throwIfAborted();
      if (isLast === true) return sliceOf(done, { isLast });
      const { member } = value;
      if ('page' in value) {
        const { lines: own, next: place } = value.page;
        const isDisclosed = own.some(({ kind }) => kind !== 'error');
        if (isDisclosed && patientIds.at(-1) !== member.patientId)
          patientIds.push(member.patientId);
        lines.add(own);
        if (lines.sizeBytes >= size.bytes && place !== undefined)
          return sliceOf(done, { place, isLast: false });
        continue;
      }
      if (value.isMissing) missingOrdinals.push(member.ordinal);
      done = member.ordinal;
      finished += 1;
      if (lines.sizeBytes >= size.bytes) break;
    }
    return sliceOf(done, { isLast: done >= (row.patients ?? 0) });
  }

  /**
   * Returns the row after the slice, or undefined when the export has ended or
   * another execution has written the slice.
   */
  async function writeSlice(
    accountId: string,
    row: StoredExport,
    rest: AsyncGenerator<Read>,
    signal?: AbortSignal,
  ) {
    const { lines, written } = await takeSlice(rest, row, signal);
    const { view_plan: plan } = row;
    const texts = [...lines.files()];
    const parts = await putFiles(
      plan === null
        ? texts.map(ndjsonOf)
        : await tablesOf({ ...row, view_plan: plan }, texts, written.isLast),
    );
    const committed = await store.asAccount(accountId, (tx) =>
      commitSlice(tx, row.id, { ...written, parts }),
    );
    // No row refers to these blobs.
    if (committed === undefined) await deleteBlobs(parts);
    return committed;
  }

  /**
   * Files are written side by side: most of the time of a small one is the wait
   * for the disk.
   */
  async function putFiles(
    files: readonly SliceFile[],
  ): Promise<WrittenSlice['parts']> {
    const puts = files.map(async ({ content, mediaType, ...part }) => ({
      ...part,
      content: await blobs.put('export', content, mediaType),
    }));
    const settled = await Promise.allSettled(puts);
    const parts = settled.flatMap((each) =>
      each.status === 'fulfilled' ? [each.value] : [],
    );
    const failed = settled.find((each) => each.status === 'rejected');
    if (failed === undefined) return parts;
    await deleteBlobs(parts);
    throw failed.reason;
  }

  async function deleteBlobs(parts: WrittenSlice['parts']): Promise<void> {
    for (const { content } of parts) await blobs.delete(content.ref);
  }

  return {
    listPatients: async ({ accountId, exportId }) =>
      progressOf(
        await store.asAccount(accountId, (tx) =>
          listExportPatients(tx, exportId),
        ),
      ),
    checkpoint: async (of) => String((await find(of))?.slices ?? ''),
    async writeSlices(of, signal) {
      const endsAt = Date.now() + STEP_MS;
      let row = await find(of);
      if (row?.status !== 'running') return progressOf(row);
      const rest = readAhead(readRest(of.accountId, row));
      try {
        while (row?.status === 'running' && Date.now() < endsAt) {
          signal?.throwIfAborted();
          row = await writeSlice(of.accountId, row, rest, signal);
        }
      } catch (error) {
        // The definitions do not fit the records: the next attempt would end in
        // the same way.
        if (error instanceof ViewError) return this.fail(of, error.message);
        throw error;
      } finally {
        await rest.return(undefined);
      }
      return progressOf(row ?? (await find(of)));
    },
    async fail(of, reason) {
      await store.asAccount(of.accountId, (tx) =>
        endExport(tx, of.exportId, { status: 'failed', reason }),
      );
      return progressOf(await find(of));
    },
  };
}

/** The lines of a slice by file. */
class SliceLines {
  sizeBytes = 0;
  resources = 0;
  readonly #files = new Map<string, SliceTexts & { texts: string[] }>();

  add(lines: readonly ExportLine[]): void {
    for (const { kind, resourceType, json } of lines) {
      const text = `${fhirJson(json)}\n`;
      const name = `${kind}/${resourceType}`;
      const file = this.#files.get(name) ?? { kind, resourceType, texts: [] };
      this.#files.set(name, file);
      file.texts.push(text);
      this.sizeBytes += Buffer.byteLength(text);
      if (kind === 'output') this.resources += 1;
    }
  }

  files() {
    return this.#files.values();
  }
}

function progressOf(row: StoredExport | undefined): BulkExportProgress {
  if (row === undefined) return { state: 'gone', done: 0, resources: 0 };
  const { status, patients, done, resources } = row;
  return {
    state: status,
    patients: patients ?? undefined,
    done,
    resources: Number(resources),
  };
}

/** One line of a file. */
interface ExportLine {
  kind: ExportFileKind;
  resourceType: string;
  json: Json;
}

/**
 * Lines of one patient, and the place after them; without a place, the patient
 * is finished.
 */
interface ExportPage {
  lines: ExportLine[];
  next?: ConsolidatedPlace;
}

const RESOURCES_PER_PAGE = 200;

export interface PatientReaderDeps {
  store: Pick<Store, 'asAccount'>;
  records: RecordKeeper;
  publicBaseUrl: string;
}

/**
 * Yields what an export contains of a patient, page by page. Yields nothing
 * when the patient no longer exists.
 */
export async function* readExportOfPatient(
  deps: PatientReaderDeps,
  of: {
    accountId: string;
    member: ExportMember;
    filter: ResourceFilter;
    since: Date | null;
  },
  start: ConsolidatedPlace | undefined,
): AsyncGenerator<ExportPage> {
  const { accountId, member, filter, since } = of;
  const { patientId } = member;
  const fhirBase = `${deps.publicBaseUrl}${FHIR_PATH}`;
  const inTx = <T>(work: (tx: AccountTx) => Promise<T>) =>
    deps.store.asAccount(accountId, work);
  if ((await inTx((tx) => findPatient(tx, patientId))) === undefined) return;
  if (start === undefined) await deps.records.merge(accountId, patientId);
  const changes =
    since === null || member.isWhole
      ? undefined
      : await inTx((tx) => readChanges(tx, patientId, since));
  // What refers to a resource that has gone has changed as well, so everything
  // comes again.
  if (since !== null && changes !== undefined && changes.gone.length === 0) {
    const { readTypes } = filter;
    const changed = changes.changed.filter(
      ({ resourceType }) => readTypes?.includes(resourceType) !== false,
    );
    for (let from = 0; from < changed.length; ) {
      const own = changed.slice(from, from + RESOURCES_PER_PAGE);
      const { served, read } = await inTx((tx) =>
        readSomeServed(tx, patientId, own),
      );
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
    yield { lines: await inTx((tx) => ownLinesOf(tx, patientId, filter)) };
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
        notes:
          after === undefined ? await ownLinesOf(tx, patientId, filter) : [],
      };
    });
    const deleted =
      after === undefined && changes !== undefined
        ? deletedLines(changes.gone, filter)
        : [];
    yield {
      lines: [
        ...notes,
        ...deleted,
        ...linesOf(page, patientId, filter, fhirBase),
      ],
      next,
    };
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
    const { resourceType } = resource;
    const json = withAddressesAt(fhirBase, resource.json);
    const isWanted = filter.matches(resource, patientId);
    const provenance =
      filter.hasType('Provenance') &&
      (isWanted || !filter.hasType(resourceType))
        ? servedProvenance(resource, patientId)
        : undefined;
    return [
      ...(isWanted ? [{ kind: 'output', resourceType, json } as const] : []),
      ...(provenance === undefined
        ? []
        : [
            {
              kind: 'output',
              resourceType: 'Provenance',
              json: provenance,
            } as const,
          ]),
    ];
  });
}

interface Changes {
  changed: { resourceType: string; id: string }[];
  gone: { resourceType: string; id: string }[];
}

async function readChanges(
  tx: AccountTx,
  patientId: string,
  since: Date,
): Promise<Changes> {
  const rows = await tx.db
    .selectFrom('record_resource')
    .select([
      'resource_type as resourceType',
      'resource_id as id',
      'gone_at as goneAt',
    ])
    .where('patient_id', '=', patientId)
    .where('changed_at', '>', since)
    .where('resource_id', '<>', patientId)
    .orderBy(sql`resource_type collate "C"`)
    .orderBy('resource_id')
    .execute();
  return {
    changed: [
      { resourceType: 'Patient', id: patientId },
      ...rows.filter(({ goneAt }) => goneAt === null),
    ],
    gone: rows.filter(({ goneAt }) => goneAt !== null),
  };
}

/**
 * One transaction Bundle that deletes what has gone (Bulk Data Access,
 * "deleted").
 */
function deletedLines(
  gone: Changes['gone'],
  filter: ResourceFilter,
): ExportLine[] {
  const entry = gone
    .filter(({ resourceType }) => filter.hasType(resourceType))
    .map(({ resourceType, id }) => ({
      request: { method: 'DELETE', url: `${resourceType}/${id}` },
    }));
  if (entry.length === 0) return [];
  const json = { resourceType: 'Bundle', type: 'transaction', entry };
  return [{ kind: 'deleted', resourceType: 'Bundle', json }];
}

/**
 * Says that a record is incomplete, and gives what our own tables say of it,
 * for views.
 */
async function ownLinesOf(
  tx: AccountTx,
  patientId: string,
  { ownTypes }: ResourceFilter,
): Promise<ExportLine[]> {
  const standing = await readRecordCompleteness(tx, patientId);
  const own = [
    ...(ownTypes.includes('RecordCompleteness')
      ? [completenessResource(patientId, standing)]
      : []),
    ...(ownTypes.includes('QueryOutcome')
      ? await queryResources(tx, patientId)
      : []),
  ].map(
    (json): ExportLine => ({
      kind: 'output',
      resourceType: String(json.resourceType),
      json,
    }),
  );
  const sentence = incompleteness(standing);
  if (sentence === undefined) return own;
  const issue = [
    {
      severity: 'warning',
      code: 'incomplete',
      diagnostics: `Patient/${patientId}: ${sentence}`,
    },
  ];
  const json = { resourceType: 'OperationOutcome', issue };
  return [...own, { kind: 'error', resourceType: 'OperationOutcome', json }];
}
