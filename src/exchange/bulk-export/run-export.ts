import type { BulkExportInput, BulkExportProgress } from '../../contract/bulk-export-workflow.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import type { Store } from '../platform/database/database.ts';
import type { RecordKeeper } from '../records/record-keeper.ts';
import {
  commitSlice,
  endExport,
  findExport,
  listExportPatients,
  readMembers,
  type StoredExport,
  type WrittenSlice,
} from './export-store.ts';
import { type ExportLine, readPatient } from './read-patient.ts';
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

  /** Reads one slice. Nothing of it depends on when it is read, but for changes of the records themselves. */
  async function readSlice(accountId: string, row: StoredExport, signal?: AbortSignal) {
    const filter = resourceFilter(row.types, row.type_filters);
    const { id, since } = row;
    const members = await store.asAccount(accountId, (tx) => readMembers(tx, id, row.done, size.patients));
    const lines = new SliceLines();
    const patientIds: string[] = [];
    const missingOrdinals: number[] = [];
    const of = (done: number, rest: Partial<WrittenSlice> = {}) => ({
      ...{ slice: row.slices, done, place: undefined, isLast: false },
      ...{ patientIds, missingOrdinals, resources: lines.resources },
      ...rest,
    });
    let done = row.done;
    for (const member of members) {
      const start = member === members[0] ? (row.place ?? undefined) : undefined;
      let isRead = false;
      for await (const page of readPatient(deps, { accountId, member, filter, since }, start)) {
        signal?.throwIfAborted();
        isRead = true;
        const isDisclosed = page.lines.some(({ kind }) => kind !== 'error');
        if (isDisclosed && patientIds.at(-1) !== member.patientId) patientIds.push(member.patientId);
        lines.add(page.lines);
        if (lines.sizeBytes >= size.bytes && page.next !== undefined)
          return { lines, written: of(done, { place: page.next }) };
      }
      if (!isRead && start === undefined) missingOrdinals.push(member.ordinal);
      done = member.ordinal;
      if (lines.sizeBytes >= size.bytes) break;
    }
    return { lines, written: of(done, { isLast: done >= (row.patients ?? 0) }) };
  }

  async function writeSlice(accountId: string, row: StoredExport, signal?: AbortSignal): Promise<void> {
    const { lines, written } = await readSlice(accountId, row, signal);
    const parts: WrittenSlice['parts'] = [];
    for (const { kind, resourceType, texts } of lines.files())
      parts.push({
        ...{ kind, resourceType, lines: texts.length },
        content: await blobs.put('export', Buffer.from(texts.join('')), NDJSON),
      });
    const committed = await store.asAccount(accountId, (tx) =>
      commitSlice(tx, row.id, { ...written, parts }),
    );
    // The export has ended, or another execution has written the slice: no row refers to these blobs.
    if (committed === undefined) for (const { content } of parts) await blobs.delete(content.ref);
  }

  return {
    listPatients: async ({ accountId, exportId }) =>
      progressOf(await store.asAccount(accountId, (tx) => listExportPatients(tx, exportId))),
    checkpoint: async (of) => String((await find(of))?.slices ?? ''),
    async writeSlices(of, signal) {
      const endsAt = Date.now() + STEP_MS;
      for (;;) {
        signal?.throwIfAborted();
        const row = await find(of);
        if (row?.status !== 'running' || Date.now() >= endsAt) return progressOf(row);
        await writeSlice(of.accountId, row, signal);
      }
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
      const text = `${JSON.stringify(json)}\n`;
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
