import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { v7 as uuidv7 } from 'uuid';
import { insertExport } from '../../src/exchange/delivery/bulk-export/export-store.ts';
import type { ViewPlan } from '../../src/exchange/delivery/bulk-export/rules/view-run.ts';
import { planView } from '../../src/exchange/delivery/bulk-export/views/planned-view.ts';
import { READY_VIEWS } from '../../src/exchange/delivery/bulk-export/views/ready-views.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import type { ExporterOrder, ExporterReport } from './exporter.ts';
import { prepareRecords } from './prepare.ts';

export interface ExportBenchOptions {
  patients: number;
  /**
   * Kills the exporting process with SIGKILL half-way, and starts another one.
   */
  kill?: boolean;
  /** Writes these ready-made views as Parquet instead of the resources. */
  views?: readonly string[];
}

export interface ExportBenchResult {
  patients: number;
  /** Lines of the output, Provenance included. */
  lines: number;
  exportSeconds: number;
  /**
   * Resources of the same records that plain reading read, without Provenance,
   * and its time.
   */
  read: { resources: number; seconds: number };
  /**
   * Resident memory of the exporting process in MB: when it begins, and mean
   * and maximum of each quarter of the export.
   */
  memory: { before: number; quarters: { mean: number; highest: number }[] };
  kills: number;
  /**
   * Processor time of the exporting and of the reading process, all threads, in
   * seconds.
   */
  cpuSeconds: { exported: number; read: number };
  load: [number, number];
}

const NOTE_MS = 10_000;

/**
 * Exports merged records of copied sample patients in a process of its own;
 * another one only reads them.
 */
export async function benchExport(
  { patients, kill = false, views }: ExportBenchOptions,
  note: (line: string) => void,
): Promise<ExportBenchResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-export-'));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
  });
  const { databaseUrl } = postgres;
  const store = createStore({ databaseUrl, poolMax: 4 });
  try {
    await store.migrate();
    const dataKeys = `bench:${randomBytes(32).toString('base64')}`;
    const blobFolder = join(dataDir, 'blobs');
    const blobs = await openFileBlobStore(blobFolder, parseKeyRing(dataKeys));
    const { merge } = createRecordKeeper({
      store,
      blobs,
      converter: createCcdaConverter(),
      noteIncomplete,
    });
    const accountId = await prepareRecords(
      store,
      databaseUrl,
      patients,
      merge,
      note,
    );
    const exportId = uuidv7();
    await store.asAccount(accountId, (tx) =>
      insertExport(tx, {
        id: exportId,
        actor: 'key:bench',
        request: '',
        typeFilters: {},
        ...(views && viewsOf(views)),
      }),
    );
    const load = loadavg()[0] ?? 0;
    const order = { databaseUrl, blobFolder, dataKeys, accountId };
    const killAt = kill ? patients / 2 : undefined;
    const exported = await watch({ ...order, exportId }, { killAt, note });
    const read = await watch(order, { note });
    return {
      patients: exported.end.done,
      lines: exported.end.count,
      exportSeconds: exported.seconds,
      read: { resources: read.end.count, seconds: read.seconds },
      memory: memoryOf(exported.reports),
      kills: exported.kills,
      cpuSeconds: {
        exported: exported.end.cpuSeconds,
        read: read.end.cpuSeconds,
      },
      load: [load, loadavg()[0] ?? 0],
    };
  } finally {
    await store.close();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

function viewsOf(ids: readonly string[]) {
  const views = ids.flatMap((id) => {
    const definition = READY_VIEWS.get(id);
    return definition === undefined ? [] : [planView(definition)];
  });
  const plan: ViewPlan = { format: 'parquet', isDeidentified: false, views };
  return {
    types: [...new Set(views.map(({ resource }) => resource))],
    view: { plan, key: 'bench' },
  };
}

/**
 * Runs the order in a process of its own, and again if it was killed. Its
 * reports show how it went.
 */
async function watch(
  order: ExporterOrder,
  {
    killAt,
    note,
  }: { killAt?: number | undefined; note: (line: string) => void },
) {
  const startedMs = performance.now();
  const reports: ExporterReport[] = [];
  let kills = 0;
  let toldMs = startedMs;
  for (;;) {
    const child = startExporter();
    child.on('message', (report: ExporterReport) => {
      reports.push(report);
      const nowMs = performance.now();
      if (nowMs - toldMs >= NOTE_MS) {
        toldMs = nowMs;
        const seconds = Math.round((nowMs - startedMs) / 1_000);
        note(
          `${seconds} s: ${report.done} patients, ${report.count} lines, ${Math.round(report.rssMegabytes)} MB`,
        );
      }
      if (killAt !== undefined && kills === 0 && report.done >= killAt) {
        kills += 1;
        child.kill('SIGKILL');
      }
      if (report.isEnd) child.disconnect();
    });
    child.send(order);
    await new Promise((resolve) => child.once('exit', resolve));
    const end = reports.at(-1);
    if (end?.isEnd)
      return {
        end,
        reports,
        kills,
        seconds: (performance.now() - startedMs) / 1_000,
      };
    if (child.signalCode !== 'SIGKILL')
      throw new Error(`The exporter ended with code ${child.exitCode}`);
    note('the exporter was killed; another one goes on');
  }
}

const startExporter = (): ChildProcess =>
  fork(fileURLToPath(new URL('./exporter.ts', import.meta.url)), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });

function memoryOf(
  reports: readonly ExporterReport[],
): ExportBenchResult['memory'] {
  const sizes = reports.map(({ rssMegabytes }) => Math.round(rssMegabytes));
  const quarters = [0, 1, 2, 3].map((quarter) => {
    const own = sizes.slice(
      (quarter * sizes.length) / 4,
      ((quarter + 1) * sizes.length) / 4,
    );
    const sum = own.reduce((total, size) => total + size, 0);
    return {
      mean: Math.round(sum / Math.max(1, own.length)),
      highest: Math.max(0, ...own),
    };
  });
  return { before: sizes[0] ?? 0, quarters };
}
