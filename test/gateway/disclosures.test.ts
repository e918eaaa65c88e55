import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { disclosuresCommand } from '../../src/exchange/operations/admin/disclosures.ts';
import { insertAuditEntry } from '../../src/exchange/platform/audit/audit-store.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { runAdminOn } from '../support/run-admin.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const report = async (patientId: string, ...options: string[]) =>
  runAdminOn(
    gateway.store,
    'disclosures',
    'report',
    '--account',
    account.accountId,
    '--patient',
    patientId,
    ...options,
  );
const doorsOf = async (
  patientId: string,
  ...options: string[]
): Promise<string[]> =>
  (await report(patientId, ...options)).document.disclosures.map(
    ({ door, what }: Record<string, string>) => `${door}: ${what}`,
  );
const newPatient = async (): Promise<string> =>
  (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    )
  ).json().id;
const entry = (
  patientId: string,
  actor: string,
  operation: string,
  outcome = '200',
) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    insertAuditEntry(tx, { actor, operation, patientId, outcome }),
  );

test('the report names who was given the data of the patient, by every door, and no one else', async () => {
  const patientId = await newPatient();
  const other = await newPatient();
  for (const id of [patientId, other])
    await account.call('GET', `patient/${id}`);
  await account.call('PUT', `patient/${patientId}/hie-opt-out?hieOptOut=false`);
  await entry(patientId, 'link', 'readConsolidatedResult');
  await entry(patientId, 'embed:1', 'getEmbedSummary');
  await entry(patientId, 'link', 'readDocument');
  await entry(patientId, 'client:1', 'fhirSearch');
  await entry(patientId, 'client:1', 'fhirExport');
  await entry(patientId, 'client:1', 'fhirRead', '403');
  await account.call('POST', `network/query?patientId=${patientId}`, {
    sources: { lab: { enabled: true } },
  });
  const event = {
    type: 'patient.admit',
    factKey: uuidv7(),
    patientId,
    occurredAt: new Date(),
  };
  await gateway.store.asAccount(account.accountId, async (tx) => {
    await insertEvent(tx, { ...event, body: { meta: {} } });
    await sql`update event set status = 'delivered', delivered_at = now() where patient_id = ${patientId}`.execute(
      tx.db,
    );
    await sql`insert into message (id, account_id, patient_id, direction, status, transport_method, destination, subject)
      values (${uuidv7()}, ${account.accountId}, ${patientId}, 'outbound', 'completed', 'direct', '=dr@direct.example.org', 's')`.execute(
      tx.db,
    );
  });
  expect((await doorsOf(patientId)).sort()).toEqual([
    'api: getPatient',
    'bulk export: fhirExport',
    'embedded page: getEmbedSummary',
    'fhir api: fhirSearch',
    'link: readConsolidatedResult',
    'link: readDocument',
    'message: direct',
    'network query: demographics, to find the patient',
    'webhook: patient.admit',
  ]);
  const { lines = [] } = await disclosuresCommand(gateway, {
    account: account.accountId,
    patient: patientId,
  });
  expect(lines[0]).toBe(
    'at,door,recipient,label,remoteAddress,what,targetId,purpose',
  );
  expect(lines.find((line) => line.includes(',message,'))).toMatch(
    /^\d{4}-.*Z,message,'=dr@direct\.example\.org,.*,not stated$/,
  );
  const { disclosures } = (await report(patientId)).document;
  const byDoor = Object.fromEntries(
    disclosures.map((row: { door: string }) => [row.door, row]),
  );
  expect(byDoor.api).toMatchObject({
    recipient: expect.stringMatching(/^key:/),
    purpose: null,
  });
  expect(byDoor['network query']).toMatchObject({
    recipient: 'lab',
    purpose: 'treatment',
  });
});

test('the report reaches back six years, survives the patient, and is audited itself', async () => {
  const patientId = await newPatient();
  await account.call('GET', `patient/${patientId}`);
  await account.call('DELETE', `patient/${patientId}`);
  expect(await doorsOf(patientId)).toEqual(['api: getPatient']);
  expect(await doorsOf(patientId, '--to', '2020-01-01')).toEqual([]);
  const { from, to } = (await report(patientId, '--to', '2026-01-01')).document;
  expect([from, to]).toEqual([
    '2020-01-01T00:00:00.000Z',
    '2026-01-01T00:00:00.000Z',
  ]);
  const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
    sql`select actor from audit_entry where operation = 'reportDisclosures' and patient_id = ${patientId}`.execute(
      tx.db,
    ),
  );
  expect(rows).toHaveLength(3);
});

test('another account’s patient has no disclosures here', async () => {
  const other = await gateway.addAccount();
  const url = `patient?facilityId=${other.facilityId}`;
  const { id } = (await other.call('POST', url, newPerson())).json();
  await other.call('GET', `patient/${id}`);
  expect(await doorsOf(id)).toEqual([]);
  expect((await report('Ada')).err).toContain(
    '--patient must be the id of a patient',
  );
});
