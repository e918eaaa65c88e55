import type { BulkExportInput, BulkExportProgress } from '../../../contract/bulk-export-workflow.ts';
import { readAhead } from '../../../lib/read-ahead.ts';
import { fhirJson } from '../../../lib/written-decimals.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../../platform/database/database.ts';
import type { ConsolidatedPlace } from '../../records/reading/read-consolidated.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import {
  commitSlice,
  type ExportMember,
  endExport,
  findExport,
  listExportPatients,
  readMembers,
  type StoredExport,
  type WrittenSlice,
} from './export-store.ts';
import { type ExportLine, type ExportPage, readPatient } from './read-patient.ts';
import { resourceFilter } from './rules/resource-filter.ts';

/** Writes the files of exports, slice by slice. */
export interface ExportRunner {
  listPatients(of: BulkExportInput): Promise<BulkExportProgress>;
  /** Where the export is now, as a text that changes with each slice. */
  checkpoint(of: BulkExportInput): Promise<string>;
  /** Writes slices until the export has ended or some time has passed. Continues after the last committed slice. */
  writeSlices(of: BulkExportInput, signal?: AbortSignal): Promise<BulkExportProgress>;
  /** Ends the export as failed, unless it has already ended. @param reason shown to the caller */
  fail(of: BulkExportInput, reason: string): Promise<BulkExportProgress>;
}

/** A page of a patient's record, or that the patient is finished. */
type Read = { member: ExportMember; page: ExportPage } | { member: ExportMember; isMissing: boolean };

/** A slice ends with the page that makes it this large, or with this many patients: what is repeated after a crash. */
const SLICE = { bytes: 8_000_000, patients: 200 };
const STEP_MS = 30_000;
const NDJSON = 'application/fhir+ndjson';

export function createExportRunner(deps: {
  store: Store;
  blobs: BlobStore;
  records: RecordKeeper;
  publicBaseUrl: string;
  /** For tests: smaller slices. */
  slice?: typeof SLICE;
}): ExportRunner {
  const { store, blobs, slice: size = SLICE } = deps;
  const find = ({ accountId, exportId }: BulkExportInput) =>
    store.asAccount(accountId, (tx) => findExport(tx, exportId));

  /** Everything that is still to be written, page by page. Does not depend on when it is read, but for changes of the records. */
  async function* readRest(accountId: string, row: StoredExport): AsyncGenerator<Read> {
    const filter = resourceFilter(row.types, row.type_filters);
    const { id, since } = row;
    let { done } = row;
    let start = row.place ?? undefined;
    for (;;) {
      const members = await store.asAccount(accountId, (tx) => readMembers(tx, id, done, size.patients));
      if (members.length === 0) return;
      for (const member of members) {
        let isMissing = start === undefined;
        for await (const page of readPatient(deps, { accountId, member, filter, since }, start)) {
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
  async function takeSlice(rest: AsyncGenerator<Read>, row: StoredExport, signal?: AbortSignal) {
    const lines = new SliceLines();
    const patientIds: string[] = [];
    const missingOrdinals: number[] = [];
    const sliceOf = (done: number, end: { place?: ConsolidatedPlace; isLast: boolean }) => {
      const { resources } = lines;
      const written = { slice: row.slices, done, place: end.place, isLast: end.isLast };
      return { lines, written: { ...written, patientIds, missingOrdinals, resources } };
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
        if (isDisclosed && patientIds.at(-1) !== member.patientId) patientIds.push(member.patientId);
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

  /** Returns the row after the slice, or undefined when the export has ended or another execution has written the slice. */
  async function writeSlice(
    accountId: string,
    row: StoredExport,
    rest: AsyncGenerator<Read>,
    signal?: AbortSignal,
  ) {
    const { lines, written } = await takeSlice(rest, row, signal);
    const parts = await putFiles(lines);
    const committed = await store.asAccount(accountId, (tx) =>
      commitSlice(tx, row.id, { ...written, parts }),
    );
    // No row refers to these blobs.
    if (committed === undefined) await deleteBlobs(parts);
    return committed;
  }

  /** Files are written side by side: most of the time of a small one is the wait for the disk. */
  async function putFiles(lines: SliceLines): Promise<WrittenSlice['parts']> {
    const puts = [...lines.files()].map(async ({ kind, resourceType, texts }) => ({
      ...{ kind, resourceType, lines: texts.length },
      content: await blobs.put('export', Buffer.from(texts.join('')), NDJSON),
    }));
    const settled = await Promise.allSettled(puts);
    const parts = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
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
      progressOf(await store.asAccount(accountId, (tx) => listExportPatients(tx, exportId))),
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
      } finally {
        await rest.return(undefined);
      }
      return progressOf(row ?? (await find(of)));
    },
    async fail(of, reason) {
      await store.asAccount(of.accountId, (tx) => endExport(tx, of.exportId, { status: 'failed', reason }));
      return progressOf(await find(of));
    },
  };
}

/** The lines of a slice by file. */
class SliceLines {
  sizeBytes = 0;
  resources = 0;
  readonly #files = new Map<string, { kind: ExportLine['kind']; resourceType: string; texts: string[] }>();

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
  return { state: status, patients: patients ?? undefined, done, resources: Number(resources) };
}
