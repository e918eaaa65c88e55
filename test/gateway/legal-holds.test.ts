import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resultsToDelete } from '../../src/exchange/delivery/consolidated-query/query-store.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { runAdminOn } from '../support/run-admin.ts';

const STATEMENT = ['--by', 'Ada', '--reason', 'Matter 17'];

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const holds = (...argv: string[]) =>
  runAdminOn(gateway.store, 'holds', ...argv);
const newPatient = async (): Promise<string> =>
  (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    )
  ).json().id;
const remove = (id: string) => account.call('DELETE', `patient/${id}`);
const place = (patientId: string, of = account.accountId) =>
  holds('place', '--account', of, '--patient', patientId, ...STATEMENT);

test('a patient under legal hold cannot be deleted until the last hold is lifted', async () => {
  const patientId = await newPatient();
  const first = await place(patientId);
  const second = await place(patientId);
  const refused = await remove(patientId);
  expect([refused.statusCode, refused.json().detail]).toEqual([
    409,
    'The patient is under legal hold and cannot be deleted until an operator lifts it',
  ]);
  expect((await account.call('GET', `patient/${patientId}`)).statusCode).toBe(
    200,
  );

  const lifted = await holds('lift', first.document.hold.id, ...STATEMENT);
  expect([lifted.exitCode, lifted.document.remaining]).toEqual([0, 1]);
  expect((await remove(patientId)).statusCode).toBe(409);
  const listed = await holds('list', '--account', account.accountId);
  expect(listed.document.holds).toEqual([
    expect.objectContaining({
      id: second.document.hold.id,
      patientId,
      placedBy: 'Ada',
      reason: 'Matter 17',
    }),
  ]);

  expect(
    (await holds('lift', second.document.hold.id, ...STATEMENT)).document
      .remaining,
  ).toBe(0);
  expect((await remove(patientId)).statusCode).toBe(204);
});

test('the audit keeps who placed and lifted a hold on which patient, and why', async () => {
  const patientId = await newPatient();
  const { id } = (await place(patientId)).document.hold;
  await holds('lift', id, '--by', 'Bob', '--reason', 'Matter 17 is closed');
  const entries = await gateway.store.asAccount(account.accountId, (tx) =>
    tx.db
      .selectFrom('audit_entry')
      .select(['actor', 'operation', 'patient_id', 'details'])
      .where('target_id', '=', id)
      .orderBy('id')
      .execute(),
  );
  expect(entries).toEqual([
    {
      actor: 'admin',
      operation: 'placeLegalHold',
      patient_id: patientId,
      details: '{"by":"Ada","reason":"Matter 17"}',
    },
    {
      actor: 'admin',
      operation: 'liftLegalHold',
      patient_id: patientId,
      details: '{"by":"Bob","reason":"Matter 17 is closed"}',
    },
  ]);
});

test('the database itself refuses to delete a patient under hold, and requests cannot lift one', async () => {
  const patientId = await newPatient();
  await place(patientId);
  const asAccount = (statement: ReturnType<typeof sql>) =>
    gateway.store.asAccount(account.accountId, (tx) =>
      statement.execute(tx.db),
    );
  await expect(
    asAccount(sql`delete from patient where id = ${patientId}`),
  ).rejects.toMatchObject({
    constraint: 'legal_hold_patient_id_fkey',
  });
  await expect(asAccount(sql`delete from legal_hold`)).rejects.toMatchObject({
    code: '42501',
  });
});

test('the result of a patient under hold stays beyond its time', async () => {
  const held = await newPatient();
  const other = await newPatient();
  const { id: holdId } = (await place(held)).document.hold;
  for (const id of [held, other])
    await account.call('POST', `patient/${id}/consolidated/query`);
  await gateway.store.asAccount(account.accountId, (tx) =>
    sql`update consolidated_query set status = 'completed', ended_at = now() - interval '8 days',
      result = jsonb_build_object('ref', patient_id) where patient_id in (${held}, ${other})`.execute(
      tx.db,
    ),
  );
  const removable = async () => {
    const results = await gateway.store.asSystem((tx) =>
      resultsToDelete(tx, { endedBeforeDays: 7, limit: 10 }),
    );
    return results.map(({ ref }) => ref).sort();
  };
  expect(await removable()).toEqual([other]);
  await holds('lift', holdId, ...STATEMENT);
  expect(await removable()).toEqual([held, other].sort());
});

test('a hold placed while the patient is deleted either prevents the deletion or finds no patient', async () => {
  for (let round = 0; round < 5; round++) {
    const patientId = await newPatient();
    const [held, removed] = await Promise.all([
      place(patientId),
      remove(patientId),
    ]);
    expect([
      [0, 409],
      [2, 204],
    ]).toContainEqual([held.exitCode, removed.statusCode]);
  }
});

test('a hold needs a patient of the account, a name and a reason', async () => {
  const patientId = await newPatient();
  const other = await gateway.addAccount();
  for (const [argv, message] of [
    [
      [
        'place',
        '--account',
        other.accountId,
        '--patient',
        patientId,
        ...STATEMENT,
      ],
      'not found in this account',
    ],
    [
      ['place', '--account', uuidv7(), '--patient', patientId, ...STATEMENT],
      'not found; list all accounts',
    ],
    [['lift', uuidv7(), ...STATEMENT], 'Legal hold not found'],
    [
      [
        'place',
        '--account',
        account.accountId,
        '--patient',
        patientId,
        '--by',
        'Ada',
        '--reason',
        ' ',
      ],
      '--reason must',
    ],
  ] as const) {
    const { exitCode, err } = await holds(...argv);
    expect([exitCode, err]).toEqual([2, expect.stringContaining(message)]);
  }
  expect((await remove(patientId)).statusCode).toBe(204);
});
