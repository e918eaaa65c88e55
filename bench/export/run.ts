import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { startPostgres } from '../../src/embedded/postgres.ts';
import { insertAccount } from '../../src/exchange/accounts/account-store.ts';
import { findExport, insertExport } from '../../src/exchange/bulk-export/export-store.ts';
import { createExportRunner } from '../../src/exchange/bulk-export/run-export.ts';
import { createStore, type Store } from '../../src/exchange/platform/database/database.ts';
import { createCcdaConverter } from '../../src/exchange/records/ccda/ccda-converter.ts';
import type { ConsolidatedPlace } from '../../src/exchange/records/consolidated-place.ts';
import { readConsolidated } from '../../src/exchange/records/read-consolidated.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import { loadSamplePatients } from '../../src/simulator/samples.ts';
import { copyPatients } from '../../test/support/copy-patients.ts';
import { deliveriesOfSample } from '../merge/deliveries.ts';
import { addPatient, deliver } from '../merge/run.ts';

export interface ExportBenchResult {
  patients: number;
  /** Lines of the output, Provenance included. */
  lines: number;
  exportSeconds: number;
  /** Resources of the same records that plain reading read, without Provenance, and its time. */
  read: { resources: number; seconds: number };
  /** Resident memory in MB: before the export, and the highest of each tenth of it. */
  memory: { before: number; tenths: number[] };
  load: [number, number];
}

const MEGABYTE = 1024 * 1024;
const rss = (): number => Math.round(process.memoryUsage.rss() / MEGABYTE);

/** Exports merged records of copied sample patients in this process, then only reads them. */
export async function benchExport(
  { patients }: { patients: number },
  tell: (line: string) => void,
): Promise<ExportBenchResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-export-'));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
  });
  const store = createStore({ databaseUrl: postgres.databaseUrl, poolMax: 4 });
  try {
    await store.migrate();
    const keyRing = parseKeyRing(`bench:${randomBytes(32).toString('base64')}`);
    const blobs = await openFileBlobStore(join(dataDir, 'blobs'), keyRing);
    const records = createRecordKeeper({ store, blobs, converter: createCcdaConverter() });
    const accountId = await prepare(store, postgres.databaseUrl, patients, records.merge);
    tell('patients are prepared');
    const runner = createExportRunner({ store, blobs, records, publicBaseUrl: 'https://bench.example' });
    const load = loadavg()[0] ?? 0;
    const exported = await exportAll(store, accountId, runner, tell);
    const read = await readAll(store, accountId);
    return { ...exported, read, load: [load, loadavg()[0] ?? 0] };
  } finally {
    await store.close();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Merges the sample patients, and copies them into an account of its own. */
async function prepare(
  store: Store,
  databaseUrl: string,
  patients: number,
  merge: (accountId: string, patientId: string) => Promise<unknown>,
): Promise<string> {
  const [from, to] = [uuidv7(), uuidv7()];
  for (const id of [from, to])
    await store.asSystem((tx) => insertAccount(tx, { id, name: id, settings: {} }));
  const samples = loadSamplePatients();
  for (const sample of samples) {
    const patientId = await addPatient(store, from, sample);
    await deliver(store, from, patientId, deliveriesOfSample(sample), 1);
    await merge(from, patientId);
  }
  const pool = new Pool({ connectionString: databaseUrl, max: 1 });
  try {
    const rows = async (statement: string, values?: unknown[]) => (await pool.query(statement, values)).rows;
    await copyPatients(rows, { from, to, times: Math.ceil(patients / samples.length), isMerged: true });
    await pool.query('analyze');
  } finally {
    await pool.end();
  }
  return to;
}

async function exportAll(
  store: Store,
  accountId: string,
  runner: ReturnType<typeof createExportRunner>,
  tell: (line: string) => void,
) {
  const of = { accountId, exportId: uuidv7() };
  const row = { id: of.exportId, actor: 'key:bench', request: '', typeFilters: {} };
  await store.asAccount(accountId, (tx) => insertExport(tx, row));
  const before = rss();
  const tenths = Array.from({ length: 10 }, () => 0);
  const watch = async () => {
    const found = await store.asAccount(accountId, (tx) => findExport(tx, of.exportId));
    const tenth = Math.min(9, Math.floor((10 * (found?.done ?? 0)) / (found?.patients ?? 1)));
    tenths[tenth] = Math.max(tenths[tenth] ?? 0, rss());
  };
  const watching = setInterval(() => void watch().catch(() => undefined), 100);
  const startedMs = performance.now();
  let progress = await runner.listPatients(of);
  while (progress.state === 'running') {
    progress = await runner.writeSlices(of);
    tell(`${progress.done} of ${progress.patients} patients, ${rss()} MB`);
  }
  const exportSeconds = (performance.now() - startedMs) / 1_000;
  clearInterval(watching);
  if (progress.state !== 'completed') throw new Error(`The export is ${progress.state}`);
  return {
    patients: progress.done,
    lines: progress.resources,
    exportSeconds,
    memory: { before, tenths },
  };
}

/** Reads the records page by page, as the export does, and writes nothing. */
async function readAll(store: Store, accountId: string): Promise<{ resources: number; seconds: number }> {
  const startedMs = performance.now();
  const ids = await store.asAccount(accountId, (tx) => tx.db.selectFrom('patient').select('id').execute());
  let resources = 0;
  for (const { id } of ids) {
    let after: ConsolidatedPlace | undefined;
    do {
      const page = await store.asAccount(accountId, (tx) => readConsolidated(tx, id, {}, after, 200));
      resources += page.resources.length;
      after = page.next;
    } while (after !== undefined);
  }
  return { resources, seconds: (performance.now() - startedMs) / 1_000 };
}
