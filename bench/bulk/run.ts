import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import { seedDemoAccount } from '../../src/exchange/operations/admin/seed.ts';
import { createBulkEngine } from '../../src/exchange/people/bulk-create/engine.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import { runFloor } from './floor.ts';
import { generateCsv } from './generate.ts';

export interface BulkBenchOptions {
  rows: number;
  rounds: number;
}

/** Milliseconds by phase. */
export interface ImportTimes {
  uploadMs: number;
  checkMs: number;
  rowsMs: number;
  joinMs: number;
  totalMs: number;
  created: number;
  updated: number;
}

export interface BulkRound {
  floorMs: number;
  first: ImportTimes;
  /** The same file again: all patients exist. */
  again: ImportTimes;
  dryRun: ImportTimes;
}

export interface BulkBenchResult {
  options: BulkBenchOptions;
  rounds: BulkRound[];
  /**
   * Highest resident memory of this process, which also runs the floor, while
   * the engine worked.
   */
  peakMemoryBytes: number;
}

/**
 * Measures the engine against the floor, alternating on one server; each round
 * imports other patients.
 */
export async function benchBulk(
  options: BulkBenchOptions,
  note: (line: string) => void,
): Promise<BulkBenchResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-bulk-'));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
  });
  const store = createStore({ databaseUrl: postgres.databaseUrl });
  const client = new pg.Client({ connectionString: postgres.databaseUrl });
  try {
    await store.migrate();
    await client.connect();
    const blobs = await openFileBlobStore(
      join(dataDir, 'blobs'),
      parseKeyRing(`bench:${randomBytes(32).toString('base64')}`),
    );
    const engine = createBulkEngine({
      store,
      blobs,
      hmacKey: 'an id hmac key for benchmarks',
    });
    const { accountId, facilityId } = await seedDemoAccount(store, {
      apiKey: generateApiKey(),
      webhookKeys: createWebhookKeys(
        parseKeyRing(`bench:${randomBytes(32).toString('base64')}`),
      ),
    });

    const importFile = async (
      csvFile: string,
      dryRun = false,
    ): Promise<ImportTimes> => {
      const clock = stopwatch();
      const upload = await blobs.put(
        'upload',
        createReadStream(csvFile),
        'text/csv',
      );
      const requestId = uuidv7();
      await store.asAccount(accountId, (tx) =>
        tx.db
          .insertInto('bulk_request')
          .values({
            id: requestId,
            account_id: accountId,
            facility_id: facilityId,
            dry_run: dryRun,
            status: 'processing',
            upload_expires_at: new Date(),
            upload: JSON.stringify(upload),
          })
          .execute(),
      );
      const uploadMs = clock();
      const checked = await engine.check(accountId, requestId);
      if (checked.kind === 'refused') throw new Error(checked.reason);
      const checkMs = clock();
      const { counts, done } = await engine.processChunks(accountId, requestId);
      if (!done || counts.failed > 0)
        throw new Error('not every row was imported');
      const rowsMs = clock();
      await engine.join(accountId, requestId);
      const joinMs = clock();
      const totalMs = uploadMs + checkMs + rowsMs + joinMs;
      return {
        uploadMs,
        checkMs,
        rowsMs,
        joinMs,
        totalMs,
        created: counts.created,
        updated: counts.updated,
      };
    };

    const memory = watchMemory();
    const result: BulkBenchResult = { options, rounds: [], peakMemoryBytes: 0 };
    const csvFile = join(dataDir, 'panel.csv');
    for (let round = 0; round <= options.rounds; round += 1) {
      const isWarmUp = round === 0;
      const rows = isWarmUp ? Math.min(3_000, options.rows) : options.rows;
      await writeFile(csvFile, generateCsv({ rows, seed: round + 1 }));
      const floorMs = await runFloor(
        client,
        csvFile,
        join(dataDir, 'floor.csv'),
      );
      memory.start();
      const first = await importFile(csvFile);
      const again = await importFile(csvFile);
      const dryRun = await importFile(csvFile, true);
      memory.pause();
      if (isWarmUp) continue;
      result.rounds.push({ floorMs, first, again, dryRun });
      note(
        `round ${round}: floor ${seconds(floorMs)}; first ${phases(first)}; again ${phases(again)}; dry run ${phases(dryRun)}`,
      );
    }
    result.peakMemoryBytes = memory.stop();
    return result;
  } finally {
    await client.end();
    await store.close();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
const phases = ({
  uploadMs,
  checkMs,
  rowsMs,
  joinMs,
  totalMs,
}: ImportTimes): string =>
  `${seconds(totalMs)} (upload ${seconds(uploadMs)}, check ${seconds(checkMs)}, rows ${seconds(rowsMs)}, join ${seconds(joinMs)})`;

/**
 * Returns a function; each call returns the milliseconds since the previous
 * one.
 */
function stopwatch(): () => number {
  let last = performance.now();
  return () => {
    const now = performance.now();
    const passed = now - last;
    last = now;
    return passed;
  };
}

function watchMemory() {
  let peak = 0;
  let isOn = false;
  const timer = setInterval(() => {
    if (isOn) peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  return {
    start: () => {
      isOn = true;
    },
    pause: () => {
      isOn = false;
    },
    stop: () => {
      clearInterval(timer);
      return peak;
    },
  };
}
