import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { noteArrival } from '../../src/exchange/records/arrivals/arrival-store.ts';
import { createArrivals } from '../../src/exchange/records/arrivals/arrivals.ts';
import { ada } from '../support/ada.ts';
import { createRecordEnvironment } from '../support/record-environment.ts';

let environment: Awaited<ReturnType<typeof createRecordEnvironment>>;
beforeAll(async () => {
  environment = await createRecordEnvironment();
});
afterAll(() => environment?.close());

const merges: string[] = [];
/** What happens while a record is merged. */
let during: (patientId: string) => Promise<void> = async () => undefined;
const signals: string[] = [];
beforeEach(() => {
  merges.length = 0;
  signals.length = 0;
  during = async () => undefined;
});

const temporal = {
  withDeadline: async (_: unknown, work: () => Promise<unknown>) => work(),
  workflow: {
    signalWithStart: async (_: unknown, { signal }: { signal: string }) =>
      void signals.push(signal),
  },
} as unknown as Client;
const arrivals = () =>
  createArrivals({
    store: environment.store,
    temporal,
    logger: pino({ level: 'silent' }),
    records: {
      async merge(_, patientId) {
        merges.push(patientId);
        await during(patientId);
        return { changed: 1 };
      },
    },
  });

/** In one transaction, at one instant. */
const note = (...patientIds: string[]) =>
  environment.store.asAccount(environment.accountId, async (tx) => {
    for (const patientId of patientIds) await noteArrival(tx, patientId);
  });
const newPatient = () => environment.addPatient(ada);

/** When each waiting record is due, in seconds after the first. */
async function waiting(): Promise<number[]> {
  const { rows } = await environment.store.asSystem((tx) =>
    sql<{ seconds: number }>`
      select round(extract(epoch from due_at - min(due_at) over ()))::int as seconds from record_arrival order by due_at`.execute(
      tx.db,
    ),
  );
  return rows.map(({ seconds }) => seconds);
}
const passTime = (seconds: number) =>
  environment.store.asSystem((tx) =>
    sql`update record_arrival set due_at = due_at - ${seconds}::int * interval '1 second'`.execute(
      tx.db,
    ),
  );
const mergeDue = () => arrivals().mergeDue(new AbortController().signal);

test('several arrivals for a patient are one merge, and nothing waits after it', async () => {
  const patientId = await newPatient();
  await note(patientId);
  await note(patientId);
  expect(await mergeDue()).toEqual({
    merged: 0,
    failed: 0,
    nextInMs: expect.any(Number),
  });

  await passTime(60);
  expect(await mergeDue()).toEqual({ merged: 1, failed: 0 });
  expect(merges).toEqual([patientId]);
});

test('what arrives during a merge is merged again', async () => {
  const patientId = await newPatient();
  await note(patientId);
  await passTime(60);
  during = note;
  expect(await mergeDue()).toMatchObject({ merged: 1, failed: 0 });

  during = async () => undefined;
  await passTime(60);
  expect(await mergeDue()).toEqual({ merged: 1, failed: 0 });
  expect(merges).toEqual([patientId, patientId]);
});

test('a record that cannot be merged holds no other, and is tried again later', async () => {
  const broken = await newPatient();
  const fine = await newPatient();
  for (const patientId of [broken, fine]) await note(patientId);
  await passTime(60);
  during = async (patientId) => {
    if (patientId === broken) throw new Error('it cannot be read');
  };
  expect(await mergeDue()).toMatchObject({ merged: 1, failed: 1 });
  expect((await mergeDue()).nextInMs).toBeGreaterThan(30_000);

  await passTime(60);
  expect(await mergeDue()).toMatchObject({ merged: 0, failed: 1 });
  expect((await mergeDue()).nextInMs).toBeGreaterThan(90_000);

  during = async () => undefined;
  await passTime(120);
  expect(await mergeDue()).toEqual({ merged: 1, failed: 0 });
});

test('in a flood records wait longer, and each is merged once for many arrivals', async () => {
  const patients: string[] = [];
  for (let index = 0; index < 70; index++) patients.push(await newPatient());
  for (let round = 0; round < 5; round++) await note(...patients);
  const seconds = await waiting();
  expect(seconds.slice(0, 5)).toEqual([0, 0, 0, 1, 2]);
  expect(seconds.slice(-10)).toEqual(Array(10).fill(58));

  await passTime(60);
  expect(await mergeDue()).toEqual({ merged: 70, failed: 0 });
  expect(merges).toHaveLength(70);
});

test('Temporal is told once of arrivals that come together, and again of later ones', async () => {
  const service = arrivals();
  for (const times of [1, 2]) {
    for (let index = 0; index < 20; index++) service.tell();
    await service.drain();
    expect(signals).toHaveLength(times);
  }
});

test('reconcile tells Temporal of records that wait too long', async () => {
  const service = arrivals();
  await note(await newPatient());
  expect((await service.recovery.takeUp()).found).toBe(0);
  await passTime(60);
  expect(await service.recovery.takeUp()).toMatchObject({
    found: 1,
    healed: 1,
  });
  expect(signals).toEqual(['arrived']);
  await mergeDue();
});
