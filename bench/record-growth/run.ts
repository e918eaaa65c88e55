import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { openRecordReader } from '../../src/exchange/records/reading/record-reader.ts';
import { copyRunningPostgres } from '../../tools/embedded/backup/backup.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import { median } from '../command-parts.ts';
import { readTableSizes, type TableSize } from '../growth/table-sizes.ts';
import { type Environment, startEnvironment } from '../query/environment.ts';
import { recordSample } from '../query/run.ts';
import { copyRecord } from './copies.ts';

export interface RecordGrowthOptions {
  sizes: number[];
  sample: string;
  /** Copies of a record at rest, of which contents and origins are in packs. */
  isPacked: boolean;
}

export interface RecordGrowth {
  records: number;
  /** Of the whole database, for a record. */
  bytesPerRecord: number;
  copySeconds: number;
  vacuumSeconds: number;
  backupSeconds: number;
  backupBytes: number;
  /** From the start of PostgreSQL on the backup to its first answer. */
  restoreSeconds: number;
  /** A record in the restored database, which PostgreSQL has not read yet. */
  firstReadMs: number;
  laterReadMs: number;
  tables: TableSize[];
}

/** A first read is of a record that no other read has touched. */
const READS = 9;

/**
 * Copies one record, made by a real query, to more and more patients, and
 * measures what PostgreSQL takes, and what its upkeep and reads cost.
 */
export async function benchRecordGrowth(
  { sizes, sample, isPacked }: RecordGrowthOptions,
  note: (line: string) => void,
): Promise<RecordGrowth[]> {
  const environment = await startEnvironment();
  const admin = new pg.Client({ connectionString: environment.databaseUrl });
  try {
    await admin.connect();
    await recordSample(environment, sample);
    const patientId = environment.recordings.get(sample)?.patientId ?? '';
    if (isPacked)
      await admin.query('select pack_record($1, 100000), pack_origins($1)', [
        patientId,
      ]);
    const measured: RecordGrowth[] = [];
    for (const records of sizes) {
      const from = measured.at(-1)?.records ?? 1;
      const begun = performance.now();
      await copyRecord(admin, patientId, { from, to: records });
      const copySeconds = secondsSince(begun);
      note(`${records} records: copied in ${copySeconds.toFixed(0)} s`);
      measured.push({
        records,
        copySeconds,
        ...(await upkeep(admin, records)),
        ...(await restored(environment, admin)),
      });
    }
    return measured;
  } finally {
    await admin.end().catch(() => undefined);
    await environment.stop();
  }
}

async function upkeep(admin: pg.Client, records: number) {
  const begun = performance.now();
  await admin.query('vacuum analyze');
  const vacuumSeconds = secondsSince(begun);
  const { rows } = await admin.query<{ bytes: string }>(
    'select pg_database_size(current_database()) as bytes',
  );
  return {
    vacuumSeconds,
    bytesPerRecord: Number(rows[0]?.bytes) / records,
    tables: await readTableSizes(admin, records),
  };
}

/** Backs up, starts PostgreSQL on the backup, and reads records from it. */
async function restored(
  { dataDir, databaseUrl, account }: Environment,
  admin: pg.Client,
) {
  const folder = await mkdtemp(join(tmpdir(), 'bench-restored-'));
  try {
    await admin.query('checkpoint');
    const from = join(dataDir, 'postgres');
    const to = join(folder, 'postgres');
    await mkdir(to);
    const begun = performance.now();
    await copyRunningPostgres(from, to, databaseUrl);
    const backupSeconds = secondsSince(begun);
    await copyFile(join(from, 'password'), join(to, 'password'));
    const { rows } = await admin.query<{ bytes: string }>(
      'select sum(pg_database_size(oid)) as bytes from pg_database',
    );

    const started = performance.now();
    const postgres = await startPostgres({
      dataDir: to,
      logFile: join(folder, 'postgres.log'),
    });
    const restoreSeconds = secondsSince(started);
    try {
      const reads = await readRecords(postgres.databaseUrl, account.accountId);
      return {
        backupSeconds,
        backupBytes: Number(rows[0]?.bytes),
        restoreSeconds,
        ...reads,
      };
    } finally {
      await postgres.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readRecords(databaseUrl: string, accountId: string) {
  const store = createStore({ databaseUrl, poolMax: 5 });
  try {
    const patients = await store.asAccount(accountId, (tx) =>
      tx.db
        .selectFrom('patient')
        .select('id')
        .orderBy(sql`md5(id::text)`)
        .limit(READS)
        .execute(),
    );
    const first: number[] = [];
    const later: number[] = [];
    for (const times of [first, later])
      for (const patient of patients) {
        const begun = performance.now();
        const reader = await openRecordReader(store, {
          accountId,
          patientId: patient.id,
          filter: {},
        });
        times.push(performance.now() - begun);
        reader.close();
      }
    return { firstReadMs: median(first), laterReadMs: median(later) };
  } finally {
    await store.close();
  }
}

const secondsSince = (begun: number): number =>
  (performance.now() - begun) / 1000;
