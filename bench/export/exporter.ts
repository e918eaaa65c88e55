import { createExportRunner } from '../../src/exchange/delivery/bulk-export/run-export.ts';
import {
  createStore,
  type Store,
} from '../../src/exchange/platform/database/database.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import {
  type ConsolidatedPlace,
  readConsolidated,
} from '../../src/exchange/records/reading/read-consolidated.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';

/** The message of the parent: what this process does, once. */
export interface ExporterOrder {
  databaseUrl: string;
  blobFolder: string;
  dataKeys: string;
  accountId: string;
  /**
   * The export to write, or to go on with; without one, the records are only
   * read.
   */
  exportId?: string;
}

/** Sent to the parent while it works, and at the end. */
export interface ExporterReport {
  /** Patients. */
  done: number;
  /** Lines written, or resources read. */
  count: number;
  rssMegabytes: number;
  /** Of this process, all threads. */
  cpuSeconds: number;
  isEnd: boolean;
}

const REPORT_MS = 1_000;
const MEGABYTE = 1024 * 1024;

process.on('message', (order: ExporterOrder) => void work(order));
process.on('disconnect', () => process.exit(0));

async function work(order: ExporterOrder): Promise<void> {
  const progress = { done: 0, count: 0 };
  const report = (isEnd: boolean) =>
    process.send?.({
      ...progress,
      rssMegabytes: process.memoryUsage.rss() / MEGABYTE,
      isEnd,
      cpuSeconds: (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
    });
  report(false);
  const reporting = setInterval(report, REPORT_MS, false);
  const store = createStore({ databaseUrl: order.databaseUrl, poolMax: 4 });
  if (order.exportId === undefined)
    await readAll(store, order.accountId, progress);
  else await exportAll(store, order, order.exportId, progress);
  clearInterval(reporting);
  await store.close();
  report(true);
}

type Progress = Pick<ExporterReport, 'done' | 'count'>;

async function exportAll(
  store: Store,
  { blobFolder, dataKeys, accountId }: ExporterOrder,
  exportId: string,
  progress: Progress,
): Promise<void> {
  const of = { accountId, exportId };
  const blobs = await openFileBlobStore(blobFolder, parseKeyRing(dataKeys));
  const records = createRecordKeeper({
    store,
    blobs,
    converter: createCcdaConverter(),
    noteIncomplete,
  });
  const runner = createExportRunner({
    store,
    blobs,
    records,
    idHmacKey: dataKeys,
    publicBaseUrl: 'https://bench.example',
  });
  let { state, done, resources } = await runner.listPatients(of);
  while (state === 'running') {
    Object.assign(progress, { done, count: resources });
    ({ state, done, resources } = await runner.writeSlices(of));
  }
  Object.assign(progress, { done, count: resources });
  if (state !== 'completed') throw new Error(`The export is ${state}`);
}

/** Reads the records page by page, as the export does, and writes nothing. */
async function readAll(
  store: Store,
  accountId: string,
  progress: Progress,
): Promise<void> {
  const ids = await store.asAccount(accountId, (tx) =>
    tx.db.selectFrom('patient').select('id').execute(),
  );
  for (const { id } of ids) {
    let after: ConsolidatedPlace | undefined;
    do {
      const page = await store.asAccount(accountId, (tx) =>
        readConsolidated(tx, id, {}, after, 200),
      );
      progress.count += page.resources.length;
      after = page.next;
    } while (after !== undefined);
    progress.done += 1;
  }
}
