import type { Bundle, CapabilityStatement, Consent } from 'fhir/r4.js';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  type FhirDoor,
  idsIn,
  inMode,
} from '../support/fhir-door.ts';
import { fhirIssues } from '../support/fhir-issues.ts';
import { TEST_BASE_URL } from '../support/gateway.ts';
import { consentBody } from './every-operation/cases/consents.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('there are no samples');
const person = personOf(sample);

let door: FhirDoor;
let key: string;
beforeAll(async () => {
  door = await createFhirDoor();
  key = await door.addKey(door.accountId, ['read', 'write']);
});
afterAll(() => door.close());

const write = async (method: 'POST' | 'PUT', path: string, body?: object) => {
  const url = `/medical/v1/${path}`;
  const response = await door.gateway.app.inject({
    method,
    url,
    headers: { 'x-api-key': key },
    payload: body,
  });
  if (response.statusCode >= 300)
    throw new Error(`${response.statusCode} ${response.body}`);
  return response.json() as Consent;
};
const record = (patientId: string, provision: object = { type: 'permit' }) =>
  write('POST', `patient/${patientId}/consent`, consentBody({ provision }));
const search = (query: string) => door.bundle(`Consent?${query}`);
const ofSource = (id: string, dateTime = '2020-01-01') =>
  delivery('hie', {
    resourceType: 'Consent',
    id,
    status: 'active',
    scope: { text: 'privacy' },
    category: [{ text: 'x' }],
    patient: { reference: 'Patient/p1' },
    dateTime,
    policyRule: { text: 'x' },
  } as Consent);

test('a recorded consent is read as it is stored, is valid, and the read is audited', async () => {
  const patientId = await door.addPatient(person);
  const { id = '' } = await record(patientId, {
    type: 'deny',
    period: { start: '2026-01-01' },
  });
  const response = await door.get(`Consent/${id}`);
  expect(response.statusCode).toBe(200);
  expect(response.json()).toMatchObject({
    resourceType: 'Consent',
    id,
    status: 'active',
    patient: { reference: `Patient/${patientId}` },
    provision: { type: 'deny' },
  });
  expect(fhirIssues(response.json())).toEqual([]);
  expect(response.headers['last-modified']).toBeDefined();
  const audited = await door.store.asAccount(door.accountId, (tx) =>
    tx.db
      .selectFrom('audit_entry')
      .select(['operation', 'patient_id'])
      .where('target_id', '=', id)
      .execute(),
  );
  expect(audited).toContainEqual({
    operation: 'fhirRead',
    patient_id: patientId,
  });
});

test('the opt-out of a patient is such a consent, valid too, and inactive once it is taken back', async () => {
  const patientId = await door.addPatient(person);
  await write('PUT', `patient/${patientId}/hie-opt-out?hieOptOut=true`);
  await write('PUT', `patient/${patientId}/hie-opt-out?hieOptOut=false`);
  const [consent] = inMode(await search(`patient=${patientId}`), 'match');
  expect(consent).toMatchObject({
    status: 'inactive',
    provision: { type: 'deny' },
  });
  expect(fhirIssues(consent ?? {})).toEqual([]);
});

test('a search gives those recorded here first, then those that sources delivered, by the same parameters', async () => {
  const patientId = await door.addPatient(person);
  const { id: ended = '' } = await record(patientId);
  await write('POST', `patient/${patientId}/consent/${ended}/end`);
  const { id: active = '' } = await record(patientId);
  await door.deliver(patientId, 'hie', [ofSource('theirs')], ['p1']);
  const all = await search(`patient=${patientId}`);
  expect(idsIn([all]).slice(0, 2)).toEqual([active, ended]);
  expect(all.total).toBe(3);
  const recordedIds = async (query: string) =>
    idsIn([await search(`patient=Patient/${patientId}&${query}`)]);
  expect((await recordedIds('status=active'))[0]).toBe(active);
  expect(await recordedIds('status=inactive')).toEqual([ended]);
  expect(await recordedIds(`scope=patient-privacy&_id=${active}`)).toEqual([
    active,
  ]);
  expect(await recordedIds('date=lt2000')).toEqual([]);
  expect(await recordedIds('_lastUpdated=lt2000')).toEqual([]);
  expect(await recordedIds(`_lastUpdated=ge2026&status=inactive`)).toEqual([
    ended,
  ]);
  expect(idsIn([await search(`_id=${active},${ended}&status=active`)])).toEqual(
    [active],
  );
});

test('pages of any size contain each consent once, in the same order', async () => {
  const patientId = await door.addPatient(person);
  for (let n = 0; n < 3; n += 1) await record(patientId);
  await door.deliver(
    patientId,
    'hie',
    [ofSource('a'), ofSource('b', '2021-01-01')],
    ['p1'],
  );
  const whole = idsIn([await search(`patient=${patientId}`)]);
  expect(whole).toHaveLength(5);
  for (const count of [1, 2, 3, 4, 5]) {
    const pages: Bundle[] = await door.pages(
      `Consent?patient=${patientId}&_count=${count}`,
    );
    expect(pages.every((page) => inMode(page, 'match').length <= count)).toBe(
      true,
    );
    expect(idsIn(pages)).toEqual(whole);
  }
});

test('consents of another account are neither read nor found', async () => {
  const patientId = await door.addPatient(person);
  const { id = '' } = await record(patientId);
  const other = uuidv7();
  await door.store.asSystem((tx) =>
    insertAccount(tx, { id: other, name: 'Other', settings: {} }),
  );
  const theirs = { 'x-api-key': await door.addKey(other) };
  expect((await door.get(`Consent/${id}`, theirs)).statusCode).toBe(404);
  expect(
    (await door.get(`Consent?patient=${patientId}`, theirs)).statusCode,
  ).toBe(404);
  expect(idsIn([(await door.get(`Consent?_id=${id}`, theirs)).json()])).toEqual(
    [],
  );
});

test('the statement lists what can be done with Consents', async () => {
  const statement: CapabilityStatement = (
    await door.get(`${TEST_BASE_URL}/fhir/R4/metadata`)
  ).json();
  const consent = statement.rest?.[0]?.resource?.find(
    ({ type }) => type === 'Consent',
  );
  expect(consent?.interaction?.map(({ code }) => code)).toEqual([
    'read',
    'search-type',
  ]);
  expect(consent?.searchParam?.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'patient',
      'status',
      'category',
      'scope',
      'date',
      '_id',
      '_lastUpdated',
    ]),
  );
});
