import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import {
  readPacking,
  setPacking,
} from '../../src/exchange/records/packing/packing-store.ts';
import {
  type RunningPostgres,
  startPostgres,
} from '../../tools/embedded/postgres.ts';
import {
  deliveriesOf,
  patientIdsOf,
  personOf,
  smallSamples,
} from '../support/deliveries.ts';
import {
  createRecordEnvironment,
  type RecordEnvironment,
} from '../support/record-environment.ts';

const RECORDS = 3;
const KILLS = 4;

let folder: string;
let postgres: RunningPostgres;
let environment: RecordEnvironment;
let owner: pg.Pool;
/** Every content and origin, by a hash of its text. */
let contents: unknown[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kill-packing-'));
  // Of its own: with a killed session, PostgreSQL ends all the others.
  postgres = await startPostgres({
    dataDir: join(folder, 'postgres'),
    settings: { fsync: 'off' },
  });
  const { databaseUrl } = postgres;
  const migrating = createStore({ databaseUrl });
  await migrating.migrate().finally(() => migrating.close());
  environment = await createRecordEnvironment({
    databaseUrl,
    drop: async () => undefined,
  });
  owner = new pg.Pool({ connectionString: databaseUrl });
  owner.on('error', () => undefined);
  owner.on('connect', (client) => client.on('error', () => undefined));
  for (let index = 0; index < RECORDS; index += 1) await addRecord(index);
  contents = await hashes();
});
afterAll(async () => {
  await environment.close();
  await owner.end();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

async function addRecord(index: number): Promise<void> {
  const [sample] = smallSamples;
  if (sample === undefined) throw new Error('the sample is gone');
  const patientId = await environment.addPatient({
    ...personOf(sample),
    externalId: `packed-${index}`,
  });
  const ids = patientIdsOf(sample);
  const all = deliveriesOf(sample);
  for (const source of ['hie', 'lab', 'pharmacy'] as const) {
    const own = all.filter((each) => each.source === source);
    await environment.deliver(patientId, source, own, ids.get(source) ?? []);
  }
  await environment.records.merge(environment.accountId, patientId);
}

const rows = async <Row extends pg.QueryResultRow>(
  statement: string,
): Promise<Row[]> => (await owner.query<Row>(statement)).rows;

const hashes = () =>
  rows(`select patient_id, source, resource_type, source_id, md5(content::text) as hash from delivered_resource
    union all
    select patient_id, source, resource_type, source_id, md5((to_jsonb(o) - 'sha256')::text) from merged_origin as o
    order by 1, 2, 3, 4, 5`);

const countOrigins = async () =>
  (
    await rows<{ packed: number; keys: number }>(
      'select (select count(*)::int from packed_place) as packed, (select count(*)::int from record_key) as keys',
    )
  )[0];

const countInPacks = async (): Promise<number> =>
  (
    await rows<{ packed: number }>(
      'select count(pack)::int as packed from patient_resource',
    )
  )[0]?.packed ?? 0;

/** Nothing is lost, and packs hold what rows refer to, and nothing else. */
async function expectAllThere(): Promise<void> {
  expect(await hashes()).toEqual(contents);
  const [held] = await rows<{ held: number }>(`
    select count(*)::int as held from resource_pack, jsonb_array_elements(contents) as each where each <> 'null'`);
  expect(held?.held).toBe(await countInPacks());
}

/** Their sessions have their number, so that none is taken for that of a killed one. */
let processes = 0;

/** The session of the running process that is moving contents at this moment. */
async function movingSession(): Promise<number | undefined> {
  const found = await rows<{ pid: number }>(`
    select pid from pg_stat_activity where application_name = 'packing-${processes}' and state = 'active' and query ~ 'pack_record'`);
  return found[0]?.pid;
}

function startPacking(): ChildProcess {
  processes += 1;
  return spawn(
    process.execPath,
    [
      'test/faults/packing-process.ts',
      postgres.databaseUrl,
      `packing-${processes}`,
    ],
    { stdio: 'ignore' },
  );
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/**
 * With a killed session PostgreSQL ends all others, and recovers. False if the
 * session has ended by itself.
 */
async function killSession(session: number): Promise<boolean> {
  const other = new pg.Client({ connectionString: postgres.databaseUrl });
  other.on('error', () => undefined);
  await other.connect();
  const ended = new Promise((resolve) => other.once('end', resolve));
  try {
    process.kill(session, 'SIGKILL');
  } catch {
    await other.end();
    return false;
  }
  await ended;
  await expect.poll(isConnected, { timeout: 240_000, interval: 50 }).toBe(true);
  return true;
}

/** PostgreSQL takes a new connection only when it has recovered. */
async function isConnected(): Promise<boolean> {
  const client = new pg.Client({ connectionString: postgres.databaseUrl });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/**
 * Moves all contents, with a kill at each of the first moves: of the process, and
 * of its session at PostgreSQL, in turns.
 */
async function moveWithKills(mode: 'pack' | 'unpack'): Promise<number> {
  await environment.store.asSystem((tx) => setPacking(tx, mode));
  let child = startPacking();
  let kills = 0;
  try {
    for (;;) {
      const session = await movingSession();
      const { upTo } = await environment.store.asSystem(readPacking);
      if (upTo === null) return kills;
      if (session === undefined || kills === KILLS) continue;
      const isOfProcess = kills % 2 === 0;
      if (isOfProcess) await kill(child);
      else if (!(await killSession(session))) continue;
      kills += 1;
      await expectAllThere();
      if (isOfProcess) child = startPacking();
    }
  } finally {
    await kill(child);
  }
}

test('contents that are being packed, joined or taken out of packs survive the kill of the process and of its session', async () => {
  const all = contents.length / 2;
  const before = await countOrigins();
  expect(before?.packed).toBe(0);
  expect(await moveWithKills('pack')).toBeGreaterThan(1);
  await expectAllThere();
  expect(await countInPacks()).toBeGreaterThan(0.9 * all);
  expect(await countOrigins()).toEqual({ packed: all, keys: 0 });

  // Packs of which little is left are joined.
  await rows(
    'delete from patient_resource where pack is not null and place % 4 <> 0',
  );
  contents = await hashes();
  const [thin] = await rows<{ packs: number }>(
    'select count(*)::int as packs from resource_pack',
  );
  expect(await moveWithKills('pack')).toBeGreaterThan(0);
  await expectAllThere();
  const [joined] = await rows<{ packs: number }>(
    'select count(*)::int as packs from resource_pack',
  );
  expect(joined?.packs).toBeLessThan(0.6 * (thin?.packs ?? 0));

  expect(await moveWithKills('unpack')).toBeGreaterThan(0);
  await expectAllThere();
  expect(await countInPacks()).toBe(0);
  expect(await countOrigins()).toEqual(before);
});
