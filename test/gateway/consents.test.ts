import type { Consent } from 'fhir/r4.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fhirIssues } from '../support/fhir-issues.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { consentBody } from './every-operation/cases/consents.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const add = async (changes: Record<string, unknown> = {}): Promise<string> =>
  (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(changes),
    )
  ).json().id;
const record = async (
  patientId: string,
  provision: object,
): Promise<Consent> => {
  const answer = await account.call(
    'POST',
    `patient/${patientId}/consent`,
    consentBody({ provision }),
  );
  expect(answer.statusCode).toBe(201);
  return answer.json();
};
const consentsOf = async (patientId: string): Promise<Consent[]> =>
  (await account.call('GET', `patient/${patientId}/consent`)).json().consents;
/** Why each source of a new query was not started. */
const refusals = async (patientId: string): Promise<Record<string, string>> => {
  const sources = ['hie', 'pharmacy', 'lab'];
  const { errors = [] } = (
    await account.call('POST', `network/query?patientId=${patientId}`, {
      sources,
    })
  ).json();
  return Object.fromEntries(
    errors.map(({ source, message }: { source: string; message: string }) => [
      source,
      message,
    ]),
  );
};
const custodian = (source: string) => ({
  role: { coding: [{ code: 'CST' }] },
  reference: { identifier: { value: source } },
});
const day = (shift: number) =>
  new Date(Date.now() + shift * 86_400_000).toISOString().slice(0, 10);
const LAB = { lab: 'A consent of the patient excludes the lab source' };

describe('a denial', () => {
  test('keeps new queries from its sources until it is ended, and stays in the history', async () => {
    const patientId = await add();
    const { id } = await record(patientId, {
      type: 'deny',
      actor: [custodian('lab')],
    });
    expect(await refusals(patientId)).toEqual(LAB);
    await account.call('POST', `patient/${patientId}/consent/${id}/end`);
    expect(await refusals(patientId)).toEqual({});
    expect(await consentsOf(patientId)).toMatchObject([
      { id, status: 'inactive' },
    ]);
  });

  test('without sources excludes all of them', async () => {
    const patientId = await add();
    await record(patientId, { type: 'deny' });
    expect(Object.keys(await refusals(patientId))).toEqual([
      'hie',
      'pharmacy',
      'lab',
    ]);
  });

  test.each<[string, object, object]>([
    ['that began today and ends today', { start: day(0), end: day(0) }, LAB],
    ['that begins tomorrow', { start: day(1) }, {}],
    ['that ended yesterday', { start: day(-9), end: day(-1) }, {}],
    [
      'that has ended by the minute',
      { end: new Date(Date.now() - 1_000).toISOString() },
      {},
    ],
  ])('%s applies in its period only', async (_, period, expected) => {
    const patientId = await add();
    await record(patientId, {
      type: 'deny',
      period,
      actor: [custodian('lab')],
    });
    expect(await refusals(patientId)).toEqual(expected);
  });

  test('of individual access does not exclude treatment', async () => {
    const patientId = await add();
    await record(patientId, { type: 'deny', purpose: [{ code: 'PATRQT' }] });
    expect(await refusals(patientId)).toEqual({});
    await record(patientId, {
      type: 'deny',
      purpose: [{ code: 'TREAT' }],
      actor: [custodian('lab')],
    });
    expect(await refusals(patientId)).toEqual(LAB);
  });

  test('is not lifted by a later permit', async () => {
    const patientId = await add();
    await record(patientId, { type: 'deny', actor: [custodian('lab')] });
    await record(patientId, { type: 'permit' });
    expect(await refusals(patientId)).toEqual(LAB);
  });
});

describe('the flag hieOptOut', () => {
  test('is the short form of a denial of the hie source, with its history', async () => {
    const patientId = await add({ status: { hieOptOut: true } });
    const flag = (on: boolean) =>
      account.call('PUT', `patient/${patientId}/hie-opt-out?hieOptOut=${on}`);
    const [made] = await consentsOf(patientId);
    expect(made).toMatchObject({
      status: 'active',
      provision: { type: 'deny', actor: [custodian('hie')] },
    });
    const refused = await account.call(
      'POST',
      `patient/${patientId}/consent/${made?.id}/end`,
    );
    expect(refused.statusCode).toBe(409);
    await flag(false);
    await flag(true);
    await flag(true);
    expect((await consentsOf(patientId)).map(({ status }) => status)).toEqual([
      'active',
      'inactive',
    ]);
    expect(await refusals(patientId)).toEqual({
      hie: 'The patient has opted out of hie queries',
    });
  });

  test('is not what a query names when another consent excludes hie', async () => {
    const patientId = await add();
    await record(patientId, { type: 'deny', actor: [custodian('hie')] });
    expect(await refusals(patientId)).toEqual({
      hie: 'A consent of the patient excludes the hie source',
    });
  });

  test('does not end a denial that was recorded as a consent', async () => {
    const patientId = await add();
    await record(patientId, { type: 'deny', actor: [custodian('hie')] });
    for (const on of [true, false])
      await account.call(
        'PUT',
        `patient/${patientId}/hie-opt-out?hieOptOut=${on}`,
      );
    expect(Object.keys(await refusals(patientId))).toEqual(['hie']);
  });
});

test('consents are valid FHIR, as they were given', async () => {
  const patientId = await add({ status: { hieOptOut: true } });
  const given = consentBody({
    provision: {
      type: 'deny',
      period: { start: day(-1) },
      actor: [custodian('lab')],
    },
  });
  const recorded = (
    await account.call('POST', `patient/${patientId}/consent`, given)
  ).json();
  expect(recorded).toMatchObject({
    ...given,
    patient: { reference: `Patient/${patientId}` },
  });
  const all = await consentsOf(patientId);
  expect(all).toHaveLength(2);
  for (const consent of all) expect(fhirIssues(consent)).toEqual([]);
});
