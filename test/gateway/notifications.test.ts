import { MetriportMedicalApi } from '@metriport/api-sdk';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { webhookEventSchema } from '../../src/contract/events.ts';
import { linkedBody } from '../../src/exchange/event-links.ts';
import { readFhirBundle } from '../../src/exchange/messaging/notifications/fhir/bundle.ts';
import { listUnmatched } from '../../src/exchange/messaging/notifications/inbound-store.ts';
import { createIntake } from '../../src/exchange/messaging/notifications/intake.ts';
import { messageRematching } from '../../src/exchange/messaging/notifications/rematch/rematching.ts';
import { createLinkMaker } from '../../src/exchange/platform/links/signed-link.ts';
import { closedGate } from '../support/gate.ts';
import {
  createTestGateway,
  newPerson,
  TEST_BASE_URL,
  TEST_LINK_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { takeUp } from '../support/take-up.ts';
import { TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

const SECRET = 'secret-of-mercy-hospital';
const ADT_ON = { monitoring: { adt: { enabled: true } } };

let gateway: TestGateway;
let account: TestAccount;
const launched: string[] = [];
const woken: string[] = [];

beforeAll(async () => {
  gateway = await createTestGateway({
    notificationSenders: [
      { name: 'mercy', secret: SECRET, timeZone: 'America/New_York' },
      {
        name: 'general',
        secret: 'secret-of-general-hospital',
        timeZone: 'UTC',
      },
    ],
    followUps: {
      launch: (_accountId, id) => void launched.push(id),
      wake: (_accountId, id) => void woken.push(id),
    },
  });
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

type Person = ReturnType<typeof newPerson>;
let cohorts = 0;
/** A patient in a cohort of its own with these settings. */
async function addPatient(
  person: Person,
  settings: object = ADT_ON,
  of = account,
): Promise<string> {
  cohorts += 1;
  const cohort = await of.call('POST', 'cohort', {
    name: `Cohort ${cohorts}`,
    settings,
  });
  const body = {
    ...person,
    cohorts: [cohort.json().id],
    externalId: `record-${cohorts}`,
  };
  const answer = await of.call(
    'POST',
    `patient?facilityId=${of.facilityId}`,
    body,
  );
  expect(answer.statusCode, answer.body).toBe(201);
  return answer.json().id;
}

let messages = 0;
const DAY = new Date().toISOString().slice(0, 10).replaceAll('-', '');
/** Field by field. */
const segment = (name: string, fields: Record<number, string>) =>
  [name, ...Array.from({ length: 50 }, (_, index) => fields[index + 1] ?? '')]
    .join('|')
    .replace(/\|+$/, '');

interface Adt {
  id?: string;
  event?: string;
  visit?: string;
  /** Hour and minute of today. */
  at?: string;
  record?: string;
  prior?: string;
  zip?: string;
  pv1?: Record<number, string>;
}
function adt(
  person: Person,
  {
    id,
    event = 'A01',
    visit = 'V1',
    at = '0800',
    record = 'R1',
    prior,
    zip,
    pv1,
  }: Adt,
) {
  messages += 1;
  const address = {
    ...person.address[0],
    ...(zip === undefined ? {} : { zip }),
  };
  const time = `${DAY}${at}00+0000`;
  return [
    `MSH|^~\\&|ADT|MERCY|HUB|X|${time}||ADT^${event}|${id ?? `m-${messages}`}|P|2.5.1`,
    `EVN||${time}`,
    segment('PID', {
      3: `${record}^^^MERCY^MR`,
      5: `${person.lastName}^${person.firstName}`,
      7: person.dob.replaceAll('-', ''),
      8: person.genderAtBirth,
      11: `${address.addressLine1}^^${address.city}^${address.state}^${address.zip}`,
    }),
    prior === undefined
      ? segment('PV1', { 2: 'I', 3: `W1^${at}`, 19: visit, ...pv1 })
      : `MRG|${prior}^^^MERCY^MR`,
  ].join('\r');
}
function post(
  body: string,
  { sender = 'mercy', secret = SECRET, type = 'application/hl7-v2' } = {},
) {
  const format = type.includes('json') ? 'fhir' : 'hl7v2';
  const headers = { 'content-type': type, authorization: `Bearer ${secret}` };
  return gateway.app.inject({
    method: 'POST',
    url: `/notifications/${format}/${sender}`,
    headers,
    payload: body,
  });
}
async function send(...bodies: string[]): Promise<void> {
  for (const body of bodies)
    expect((await post(body)).body).toContain('\rMSA|AA|');
}
const fhir = (resources: object[], rest: object = {}) => {
  messages += 1;
  const entry = resources.map((resource) => ({ resource }));
  return JSON.stringify({
    resourceType: 'Bundle',
    id: `b-${messages}`,
    type: 'collection',
    entry,
    ...rest,
  });
};
const fhirPatient = (person: Person) => ({
  resourceType: 'Patient',
  id: 'sender-patient',
  name: [{ family: person.lastName, given: [person.firstName] }],
  birthDate: person.dob,
  gender: 'female',
  address: [
    {
      line: [person.address[0]?.addressLine1],
      postalCode: person.address[0]?.zip,
    },
  ],
});
const sendFhir = async (body: string) => {
  const answer = await post(body, { type: 'application/fhir+json' });
  expect(answer.statusCode, answer.body).toBe(200);
};

interface Sent {
  type: string;
  body: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: payloads of several shapes
  payload: any;
}
/**
 * Webhooks of a patient as they would be sent now, in their order; each as the
 * contract and published readers have it.
 */
async function eventsOf(patientId: string, of = account): Promise<Sent[]> {
  const { rows } = await gateway.store.asAccount(of.accountId, (tx) =>
    sql<{ type: string; patient_id: string; body: Record<string, unknown> }>`
      select type, patient_id, body from event where patient_id = ${patientId} order by seq`.execute(
      tx.db,
    ),
  );
  const links = createLinkMaker(TEST_BASE_URL, TEST_LINK_KEY);
  return rows.map(({ type, patient_id, body: stored }) => {
    const body = linkedBody(links, of.accountId, {
      type,
      patientId: patient_id,
      body: stored,
    });
    expect(
      webhookEventSchema.safeParse(body),
      JSON.stringify(body),
    ).toMatchObject({ success: true });
    MetriportMedicalApi.parseWebhookResponse({
      ...body,
      meta: { messageId: 'm', ...(body.meta as object) },
    });
    return { type, body, payload: body.payload };
  });
}
const typesOf = async (patientId: string, of = account) =>
  (await eventsOf(patientId, of)).map(({ type }) => type);
const list = async (query: string, of = account) =>
  (await of.call('GET', `notification?${query}`)).json();
const follow = (url: string) =>
  gateway.app.inject({ url: url.replace(TEST_BASE_URL, '') });
const at = (hour: string) =>
  `${new Date().toISOString().slice(0, 10)}T${hour}:00.000Z`;

describe('an ADT message of a monitored patient', () => {
  test('becomes a webhook with the fact’s own time, and a link to the encounter', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    await send(
      adt(person, { visit: 'a', at: '0800', pv1: { 44: `${DAY}0745+0000` } }),
      adt(person, { visit: 'a', event: 'A02', at: '0900' }),
      adt(person, {
        visit: 'a',
        event: 'A03',
        at: '1000',
        pv1: { 45: `${DAY}0955+0000`, 36: '01' },
      }),
    );
    const [admit, transfer, discharge] = await eventsOf(patientId);
    expect(admit).toMatchObject({
      type: 'patient.admit',
      payload: {
        patientId,
        externalId: `record-${cohorts}`,
        admitTimestamp: at('07:45'),
        whenSourceSent: at('08:00'),
      },
    });
    const moved = {
      timestamp: at('09:00'),
      sourceLocation: { name: 'W1-0800', type: 'unknown' },
      destinationLocation: { name: 'W1-0900', type: 'unknown' },
    };
    expect(transfer).toMatchObject({
      type: 'patient.transfer',
      payload: { transfers: [moved] },
    });
    expect(discharge).toMatchObject({
      type: 'patient.discharge',
      payload: {
        admitTimestamp: at('07:45'),
        dischargeTimestamp: at('09:55'),
        transfers: [moved],
      },
    });
    const bundle = await follow(discharge?.payload.url);
    expect(bundle.headers['content-type']).toContain('application/fhir+json');
    const [patient, encounter] = bundle
      .json()
      .entry.map(({ resource }: { resource: object }) => resource);
    expect(patient).toMatchObject({
      resourceType: 'Patient',
      id: patientId,
      birthDate: person.dob,
    });
    expect(encounter).toMatchObject({
      status: 'finished',
      subject: { reference: `Patient/${patientId}` },
      period: { start: at('07:45'), end: at('09:55') },
      location: [
        { location: { display: 'W1-0800' } },
        { location: { display: 'W1-0900' } },
      ],
    });
  });

  test('that is sent twice gets the same answer and tells nothing anew', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    const message = adt(person, { visit: 'b', id: 'same-id' });
    await send(message);
    const blobs = await gateway.blobCount();
    await send(message, message);
    const together = adt(person, { visit: 'b', event: 'A03', at: '0900' });
    await Promise.all(Array.from({ length: 5 }, () => send(together)));
    expect(await typesOf(patientId)).toEqual([
      'patient.admit',
      'patient.discharge',
    ]);
    expect(await gateway.blobCount()).toBe(blobs + 1);
  });

  test('that comes late is told late, with its own time; what was overtaken by its end is not told', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    await send(
      adt(person, { visit: 'c', event: 'A03', at: '1000' }),
      adt(person, { visit: 'c', event: 'A01', at: '0800' }),
      adt(person, { visit: 'c2', event: 'A11', at: '0900' }),
      adt(person, { visit: 'c2', event: 'A01', at: '0800' }),
    );
    const events = await eventsOf(patientId);
    expect(events.map(({ type }) => type)).toEqual([
      'patient.discharge',
      'patient.admit',
    ]);
    expect(events[1]?.payload).toMatchObject({ admitTimestamp: at('08:00') });
  });

  test('is corrected without being told again, and withdrawn when it is taken back', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    await send(
      adt(person, { visit: 'd', at: '0800' }),
      adt(person, {
        visit: 'd',
        event: 'A08',
        at: '0900',
        pv1: { 44: `${DAY}0730+0000` },
      }),
    );
    const corrected = await list(`patientId=${patientId}`);
    expect(corrected.notifications).toMatchObject([
      { type: 'patient.admit', status: 'current', occurredAt: at('07:30') },
    ]);
    await send(adt(person, { visit: 'd', event: 'A11', at: '1000' }));
    expect(await typesOf(patientId)).toEqual(['patient.admit']);
    const withdrawn = await list(`patientId=${patientId}&status=withdrawn`);
    expect(withdrawn).toMatchObject({
      notifications: [{ status: 'withdrawn', sender: 'mercy' }],
      meta: { itemsInTotal: 1 },
    });
    const bundle = (await follow(withdrawn.notifications[0].url)).json();
    expect(bundle.entry[1].resource.status).toBe('cancelled');
  });

  test('is of nobody’s concern while no cohort of the patient has the feature on, in any account', async () => {
    const person = newPerson();
    const patientId = await addPatient(person, {
      monitoring: { laboratory: { notifications: true } },
    });
    const other = await gateway.addAccount();
    const theirs = await addPatient(person, ADT_ON, other);
    await send(adt(person, { visit: 'e' }));
    expect(await typesOf(patientId)).toEqual([]);
    expect(await typesOf(theirs, other)).toEqual(['patient.admit']);
    expect((await list('count=1')).notifications[0]?.patientId).not.toBe(
      theirs,
    );
    const [{ id }] = (await list(`patientId=${theirs}`, other)).notifications;
    expect((await other.call('GET', `notification/${id}`)).statusCode).toBe(
      200,
    );
    expect((await account.call('GET', `notification/${id}`)).statusCode).toBe(
      404,
    );
  });
});

describe('whom a message is about', () => {
  test('is found by the zip of the primary address only, and by nothing less than all of it', async () => {
    const person = newPerson();
    const second = { ...person.address[0], zip: '10001' };
    const patientId = await addPatient({
      ...person,
      address: [...person.address, second],
    } as Person);
    await send(
      adt(person, { visit: 'f1', zip: '10001' }),
      adt({ ...person, dob: '1981-04-05' }, { visit: 'f2' }),
    );
    await send(
      adt({ ...person, firstName: 'Kim' }, { visit: 'f3' }),
      adt({ ...person, genderAtBirth: 'M' }, { visit: 'f4' }),
    );
    expect(await typesOf(patientId)).toEqual([]);
    await send(
      adt({ ...person, firstName: 'PAT' }, { visit: 'f5', zip: '02108-9999' }),
    );
    expect(await typesOf(patientId)).toEqual(['patient.admit']);
    // A PUT in another order changes the primary address.
    const swapped = { ...person, address: [second, ...person.address] };
    expect(
      (await account.call('PUT', `patient/${patientId}`, swapped)).statusCode,
    ).toBe(200);
    await send(
      adt(person, { visit: 'f6', zip: '10001' }),
      adt(person, { visit: 'f7' }),
    );
    expect(await typesOf(patientId)).toEqual([
      'patient.admit',
      'patient.admit',
    ]);
  });

  test('stays who it was when a later message lacks the person, or tells of a move', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    await send(
      adt(person, { visit: 'g', at: '0800' }),
      adt(person, { visit: 'g', event: 'A02', at: '0900', zip: '94110' }),
      adt(
        { ...person, lastName: '', firstName: '' },
        { visit: 'g', event: 'A03', at: '1000' },
      ),
    );
    expect(await typesOf(patientId)).toEqual([
      'patient.admit',
      'patient.transfer',
      'patient.discharge',
    ]);
  });

  test('is nobody when two patients fit, unless one lives at that street; unmatched messages can be listed', async () => {
    const person = newPerson();
    const first = await addPatient(person);
    const second = await addPatient({
      ...person,
      firstName: 'Pat Ann',
      address: [{ ...person.address[0], addressLine1: '9 Elm Street' }],
    } as Person);
    const elsewhere = {
      ...person,
      address: [{ ...person.address[0], addressLine1: '7 Oak Street' }],
    } as Person;
    await send(
      adt(elsewhere, { visit: 'h1' }),
      adt(newPerson(), { visit: 'h2' }),
    );
    expect([await typesOf(first), await typesOf(second)]).toEqual([[], []]);
    const { rows } = await gateway.store.asSystem((tx) =>
      sql<{
        outcome: string;
      }>`select outcome from inbound_message order by received_at desc limit 2`.execute(
        tx.db,
      ),
    );
    expect(rows.map(({ outcome }) => outcome)).toEqual([
      'unmatched',
      'ambiguous',
    ]);
    await send(adt(person, { visit: 'h3' }));
    expect([await typesOf(first), await typesOf(second)]).toEqual([
      ['patient.admit'],
      [],
    ]);
  });

  test('is told by a correction, and then everything that was not told before', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    await send(
      adt({ ...person, dob: '1990-01-01' }, { visit: 'i', at: '0800' }),
    );
    expect(await typesOf(patientId)).toEqual([]);
    await send(adt(person, { visit: 'i', event: 'A08', at: '0900' }));
    expect(await typesOf(patientId)).toEqual(['patient.admit']);
    // A message from before the correction does not undo it.
    await send(
      adt(
        { ...person, dob: '1990-01-01' },
        { visit: 'i', event: 'A02', at: '0830' },
      ),
    );
    expect(await typesOf(patientId)).toEqual([
      'patient.admit',
      'patient.transfer',
    ]);
  });

  test('changes when records are merged: it is told to the right one, and withdrawn from the wrong one', async () => {
    const wrong = newPerson();
    const right = newPerson();
    const wrongId = await addPatient(wrong);
    const rightId = await addPatient(right);
    await send(adt(wrong, { visit: 'j', record: 'R-wrong', at: '0800' }));
    await send(
      adt(right, {
        event: 'A40',
        record: 'R-right',
        prior: 'R-wrong',
        at: '0900',
      }),
    );
    // A late one under the old number, and one under the new.
    await send(
      adt(wrong, { visit: 'j', event: 'A02', record: 'R-wrong', at: '0830' }),
    );
    await send(
      adt(
        { ...right, lastName: '' },
        { visit: 'j', event: 'A03', record: 'R-right', at: '1000' },
      ),
    );
    expect(await typesOf(wrongId)).toEqual(['patient.admit']);
    expect(await typesOf(rightId)).toEqual([
      'patient.admit',
      'patient.transfer',
      'patient.discharge',
    ]);
    const [withdrawn] = (await list(`patientId=${wrongId}`)).notifications;
    expect(withdrawn.status).toBe('withdrawn');
    expect((await follow(withdrawn.url)).statusCode).toBe(410);
  });

  test('is looked up by an index, over all accounts', async () => {
    const plan = await gateway.store.asSystem(async (tx) => {
      await sql`set local enable_seqscan = off`.execute(tx.db);
      return sql`explain select id from patient where dob = '1980-04-05'
        and left(addresses -> 0 ->> 'zip', 5) = any(array['02108'])`.execute(
        tx.db,
      );
    });
    expect(JSON.stringify(plan.rows)).toContain('patient_by_birth_and_zip');
  });
});

describe('FHIR notifications', () => {
  test('of an encounter are told as ADT messages are, by its state', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    const encounter = (
      status: string,
      lastUpdated: string,
      period: object,
    ) => ({
      resourceType: 'Encounter',
      id: 'enc-1',
      status,
      meta: { lastUpdated },
      period,
      class: { code: 'EMER' },
    });
    await sendFhir(
      fhir([
        encounter('in-progress', at('08:10'), { start: at('08:00') }),
        fhirPatient(person),
      ]),
    );
    await sendFhir(
      fhir([
        encounter('finished', at('09:10'), {
          start: at('08:00'),
          end: at('09:00'),
        }),
        fhirPatient(person),
      ]),
    );
    await sendFhir(
      fhir([
        encounter('in-progress', at('08:20'), { start: at('08:00') }),
        fhirPatient(person),
      ]),
    );
    const events = await eventsOf(patientId);
    expect(events.map(({ type }) => type)).toEqual([
      'patient.admit',
      'patient.discharge',
    ]);
    expect(events[1]?.payload).toMatchObject({
      admitTimestamp: at('08:00'),
      dischargeTimestamp: at('09:00'),
    });
  });

  test('of fills and results go to those who want them, each once', async () => {
    const person = newPerson();
    const patientId = await addPatient(person, {
      monitoring: {
        pharmacy: { notifications: true },
        laboratory: { notifications: true },
      },
    });
    const subject = { reference: 'Patient/sender-patient' };
    const dispense = {
      resourceType: 'MedicationDispense',
      status: 'completed',
      subject,
      whenHandedOver: at('11:00'),
    };
    const report = {
      resourceType: 'DiagnosticReport',
      id: 'r1',
      status: 'final',
      subject,
      effectiveDateTime: at('06:00'),
    };
    await sendFhir(
      fhir([
        fhirPatient(person),
        { ...dispense, id: 'd1' },
        { ...dispense, id: 'd2' },
      ]),
    );
    await sendFhir(fhir([fhirPatient(person), { ...dispense, id: 'd2' }]));
    await sendFhir(fhir([fhirPatient(person), report]));
    await sendFhir(
      fhir([
        fhirPatient(person),
        { ...dispense, id: 'd1', status: 'entered-in-error' },
      ]),
    );
    const events = await eventsOf(patientId);
    expect(events.map(({ type }) => type)).toEqual([
      'patient.pharmacy',
      'patient.pharmacy',
      'patient.laboratory',
    ]);
    expect(events[0]?.payload).toMatchObject({
      medicationDispensedDate: at('11:00'),
    });
    expect(events[2]?.payload).toMatchObject({
      specimenCollectedDate: at('06:00'),
    });
    const resources = (await follow(events[2]?.payload.url)).json().entry;
    expect(resources[1].resource).toMatchObject({
      id: 'r1',
      subject: { reference: `Patient/${patientId}` },
    });
    const told = await list(
      `patientId=${patientId}&type=patient.pharmacy&sort=notifiedAt=asc`,
    );
    expect(
      told.notifications.map(({ status }: { status: string }) => status).sort(),
    ).toEqual(['current', 'withdrawn']);
  });
});

describe('a follow-up', () => {
  const followUpOf = async (patientId: string) =>
    (
      await list(`patientId=${patientId}&type=patient.discharge`)
    ).notifications.map(
      (notification: { id: string; followUp?: { state: string } }) => ({
        id: notification.id,
        state: notification.followUp?.state,
      }),
    );

  test('begins with a discharge, ends when that is taken back, and is one for each patient', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    await send(adt(person, { visit: 'k', event: 'A03', at: '0100' }));
    const [first] = await followUpOf(patientId);
    expect(first).toMatchObject({ state: 'open' });
    expect(launched).toContain(first.id);
    await send(adt(person, { visit: 'k', event: 'A13', at: '0130' }));
    expect(await followUpOf(patientId)).toMatchObject([{ state: 'cancelled' }]);
    expect(woken).toContain(first.id);
    await send(
      adt(person, { visit: 'k', event: 'A03', at: '0200' }),
      adt(person, { visit: 'k2', event: 'A03', at: '0200' }),
    );
    const states = (await followUpOf(patientId)).map(
      ({ state }: { state: string }) => state,
    );
    expect(states).toEqual(['open', 'cancelled', 'cancelled']);
    const atOnce = Array.from({ length: 4 }, (_, index) =>
      adt(person, { visit: `k-${index}`, event: 'A03' }),
    );
    await Promise.all(atOnce.map((message) => send(message)));
    const open = (await followUpOf(patientId)).filter(
      ({ state }: { state: string }) => state === 'open',
    );
    expect(open).toHaveLength(1);
  });

  test('can be ended by hand, once', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    await send(adt(person, { visit: 'l', event: 'A03' }));
    const [{ id }] = await followUpOf(patientId);
    const ended = await account.call(
      'POST',
      `notification/${id}/follow-up/cancel`,
    );
    expect([ended.statusCode, ended.json().followUp.state]).toEqual([
      200,
      'cancelled',
    ]);
    expect(woken).toContain(id);
    expect(
      (await account.call('POST', `notification/${id}/follow-up/cancel`))
        .statusCode,
    ).toBe(409);
  });

  test('is not begun for who opted out, nor for a discharge that is long past', async () => {
    const optedOut = newPerson({ status: { hieOptOut: true } });
    const past = newPerson();
    const ids = [await addPatient(optedOut), await addPatient(past)];
    await send(
      adt(optedOut, { visit: 'm1', event: 'A03' }),
      adt(past, { visit: 'm2', event: 'A03', pv1: { 45: '20200101' } }),
    );
    for (const id of ids)
      expect((await followUpOf(id))[0].state).toBeUndefined();
  });
});

describe('a sender', () => {
  test('is answered only with its own secret, and learns nothing about others', async () => {
    const body = adt(newPerson(), {});
    for (const access of [
      { secret: 'wrong' },
      { sender: 'general' },
      { sender: 'nobody' },
      { secret: '' },
    ]) {
      const answer = await post(body, access);
      expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([
        401,
        'Bearer realm="notifications"',
      ]);
    }
    const numbered = adt(newPerson(), { id: 'm-of-both' });
    await send(numbered);
    expect(
      (
        await post(numbered, {
          sender: 'general',
          secret: 'secret-of-general-hospital',
        })
      ).body,
    ).toContain('MSA|AA');
  });

  test('learns whether the message is taken, not whether we know the person', async () => {
    const known = newPerson();
    await addPatient(known);
    const answers = await Promise.all(
      [known, newPerson()].map((person) =>
        post(adt(person, { id: `x-${person.lastName}` })),
      ),
    );
    const bare = answers.map(({ body }) =>
      body.replaceAll(/\d{14}|[0-9a-f]{20}|x-\w+/g, ''),
    );
    expect(bare[0]).toBe(bare[1]);
  });

  test('gets AE for a message that lacks something, AR for another kind, 4xx for what is none', async () => {
    const person = newPerson();
    const message = adt(person, { visit: '' });
    expect((await post(message)).body).toMatch(
      /\rMSA\|AE\|m-\d+\rERR\|\|PV1\^1\^19\|101\^[^|]+\|E/,
    );
    expect((await post(message.replace('ADT^A01', 'DFT^P03'))).body).toContain(
      '\rMSA|AR|',
    );
    expect((await post('hello')).statusCode).toBe(400);
    expect((await post(message, { type: 'application/xml' })).statusCode).toBe(
      415,
    );
    expect((await post('x'.repeat(8_500_000))).statusCode).toBe(413);
    const empty = await post(fhir([]), { type: 'application/json' });
    expect([empty.statusCode, empty.json().issue[0].code]).toEqual([
      400,
      'not-supported',
    ]);
  });

  test('gets its answer also for dates that are none, and is found with the right ones', async () => {
    const person = newPerson();
    const patientId = await addPatient(person);
    const visit = 'not-a-day';
    for (const dob of ['1980-13-45', '1981-02-29', '0000-01-01'])
      await send(
        adt({ ...person, dob } as Person, { visit, pv1: { 44: '00000101' } }),
      );
    await sendFhir(
      fhir([
        { ...fhirPatient(person), birthDate: '1980-13-45' },
        {
          resourceType: 'Encounter',
          id: 'not-a-day',
          status: 'arrived',
          period: { start: '0000-01-01' },
        },
      ]),
    );
    expect(await typesOf(patientId)).toEqual([]);
    await send(adt(person, { visit }));
    expect(await typesOf(patientId)).toEqual(['patient.admit']);
  });

  test('leaves no person in logs, in the tables without account, nor in the clear on disk', async () => {
    const person = newPerson({ dob: '1931-12-24' });
    await send(
      adt(person, { visit: 'secret-visit', record: 'secret-record' }),
      adt(person, { id: 'secret-message' }),
    );
    await post(adt(person, { visit: '' }));
    const tables = [
      'inbound_message',
      'inbound_subject',
      'inbound_event',
      'inbound_merge',
    ];
    const stored = await gateway.store.asSystem(async (tx) =>
      Promise.all(
        tables.map(
          async (table) =>
            (
              await sql`select t::text from ${sql.table(table)} t`.execute(
                tx.db,
              )
            ).rows,
        ),
      ),
    );
    for (const text of [JSON.stringify(stored), gateway.logLines.join('\n')])
      expect(text).not.toMatch(
        new RegExp(
          `${person.lastName}|1931-12-24|19311224|secret-(visit|record|message)|${SECRET}`,
        ),
      );
    await expect(
      gateway.store.asAccount(account.accountId, (tx) =>
        sql`select * from inbound_message`.execute(tx.db),
      ),
    ).rejects.toMatchObject({ code: '42501' });
  });
});

describe('a message that came before its patient', () => {
  // Of the tests above; their persons share birth date and zip.
  beforeAll(() =>
    gateway.store.asSystem((tx) =>
      sql`delete from patient_to_match`.execute(tx.db),
    ),
  );
  const rematching = () =>
    messageRematching({
      store: gateway.store,
      blobs: gateway.blobs,
      followUps: {
        launch: (_accountId, id) => void launched.push(id),
        wake: () => undefined,
      },
      recordings: { launch: () => undefined },
      idHmacKey: TEST_ID_HMAC_KEY,
    });
  const round = async (limit?: number) => {
    await takeUp(rematching(), limit);
  };
  const toMatch = async () =>
    (
      await gateway.store.asSystem((tx) =>
        sql`select from patient_to_match`.execute(tx.db),
      )
    ).rows.length;
  const unmatched = async () =>
    (await gateway.store.asSystem((tx) => listUnmatched(tx, 1_000))).map(
      ({ id }) => id,
    );

  /** Resolves when a transaction waits for the one that takes a message in. */
  async function isWaitedFor(): Promise<void> {
    for (;;) {
      const { rows } = await gateway.store.asSystem((tx) =>
        sql`select from pg_locks where locktype = 'advisory' and not granted`.execute(
          tx.db,
        ),
      );
      if (rows.length > 0) return;
    }
  }

  test('is matched when the patient is created, in every account, and tells everything once', async () => {
    const person = newPerson({ dob: '1961-02-01' });
    await round();
    const before = await unmatched();
    await send(
      adt(person, { visit: 'late', at: '0800' }),
      adt(person, { visit: 'late', event: 'A03', at: '1000' }),
    );
    await round();
    expect(await unmatched()).toHaveLength(before.length + 2);
    const patientId = await addPatient(person);
    const other = await gateway.addAccount();
    const atOther = await addPatient(person, ADT_ON, other);
    launched.length = 0;
    await round();
    await round();
    expect(await typesOf(patientId)).toEqual([
      'patient.admit',
      'patient.discharge',
    ]);
    expect(await typesOf(atOther, other)).toEqual([
      'patient.admit',
      'patient.discharge',
    ]);
    expect(launched).toHaveLength(2);
    expect(await unmatched()).toEqual(before);
    expect(await toMatch()).toBe(0);
  });

  test('is matched when the patient is corrected; other changes cause no work', async () => {
    const person = newPerson({ dob: '1961-02-07' });
    const patientId = await addPatient({ ...person, dob: '1990-01-01' });
    await send(adt(person, { visit: 'corrected' }));
    await round();
    expect(await typesOf(patientId)).toEqual([]);
    const put = (body: object) =>
      account.call('PUT', `patient/${patientId}`, body);
    expect(
      (await put({ ...person, dob: '1990-01-01', externalId: 'another' }))
        .statusCode,
    ).toBe(200);
    expect(await toMatch()).toBe(0);
    expect((await put(person)).statusCode).toBe(200);
    expect(await toMatch()).toBe(1);
    await round();
    expect(await typesOf(patientId)).toEqual(['patient.admit']);
  });

  test('is matched although it was being taken in while the patient was created', async () => {
    const person = newPerson({ dob: '1961-02-06' });
    const hasLooked = closedGate();
    const mayCommit = closedGate();
    const intake = createIntake({
      store: {
        ...gateway.store,
        asSystem: (work) =>
          gateway.store.asSystem(async (tx) => {
            const result = await work(tx);
            if (Array.isArray(result)) {
              hasLooked.open();
              await mayCommit.passed;
            }
            return result;
          }),
      },
      blobs: gateway.blobs,
      followUps: { launch: () => undefined, wake: () => undefined },
      recordings: { launch: () => undefined },
      idHmacKey: TEST_ID_HMAC_KEY,
      logger: pino({ level: 'silent' }),
    });
    const bundle = fhir([
      fhirPatient(person),
      {
        resourceType: 'Encounter',
        id: 'meanwhile',
        status: 'in-progress',
        period: { start: at('08:00') },
      },
    ]);
    const sender = { name: 'mercy', secret: SECRET, timeZone: 'UTC' };
    const bytes = Buffer.from(bundle);
    const accepted = intake.accept(
      sender,
      'fhir',
      bytes,
      readFhirBundle(bytes),
    );
    await hasLooked.passed;
    const patientId = await addPatient(person);
    const done = round();
    await Promise.race([done, isWaitedFor()]);
    mayCommit.open();
    await Promise.all([accepted, done]);
    expect(await typesOf(patientId)).toEqual(['patient.admit']);
  });

  test('of which there are many, is matched slice by slice', async () => {
    const person = newPerson({ dob: '1961-02-04' });
    const subject = { reference: 'Patient/sender-patient' };
    const report = {
      resourceType: 'DiagnosticReport',
      status: 'final',
      subject,
      effectiveDateTime: at('06:00'),
    };
    const reports = Array.from({ length: 101 }, (_, index) => ({
      ...report,
      id: `many-${index}`,
    }));
    await sendFhir(fhir([fhirPatient(person), ...reports]));
    const wanted = { monitoring: { laboratory: { notifications: true } } };
    const patientId = await addPatient(person, wanted);
    await round();
    expect(await typesOf(patientId)).toHaveLength(100);
    await round();
    expect(await typesOf(patientId)).toHaveLength(101);
    expect(await toMatch()).toBe(0);
  });

  test('that cannot be read again stops no other one, and is tried again', async () => {
    const lost = newPerson({ dob: '1961-02-02' });
    const found = newPerson({ dob: '1961-02-03' });
    await send(adt(lost, { visit: 'lost' }), adt(found, { visit: 'found' }));
    const lostId = await addPatient(lost);
    const foundId = await addPatient(found);
    const faulty = messageRematching({
      store: gateway.store,
      blobs: {
        ...gateway.blobs,
        read: async (ref) => {
          const bytes = await gateway.blobs.read(ref);
          if (bytes.includes(lost.lastName))
            throw new Error('the store does not answer');
          return bytes;
        },
      },
      followUps: { launch: () => undefined, wake: () => undefined },
      recordings: { launch: () => undefined },
      idHmacKey: TEST_ID_HMAC_KEY,
    });
    await expect(takeUp(faulty)).rejects.toThrow('the store does not answer');
    expect([await typesOf(lostId), await typesOf(foundId)]).toEqual([
      [],
      ['patient.admit'],
    ]);
    await round();
    expect(await typesOf(lostId)).toEqual(['patient.admit']);
    expect(await toMatch()).toBe(0);
  });

  test('is found by an index', async () => {
    const plan = await gateway.store.asSystem(async (tx) => {
      await sql`set local enable_seqscan = off`.execute(tx.db);
      return sql`explain select id from inbound_subject where match_keys @> array['\\x00'::bytea]`.execute(
        tx.db,
      );
    });
    expect(JSON.stringify(plan.rows)).toContain('inbound_subject_by_match_key');
  });
});
