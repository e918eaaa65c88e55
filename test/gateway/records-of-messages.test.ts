import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  completenessLines,
  readRecordCompleteness,
} from '../../src/exchange/records/reading/completeness.ts';
import {
  fillMessage,
  resultMessage,
} from '../../tools/simulator/notifications/hl7v2.ts';
import { samples } from '../support/deliveries.ts';
import { newPerson, TEST_BASE_URL } from '../support/gateway.ts';
import {
  adtMessage,
  createSenderEnvironment,
  hl7Segment,
  mshOf,
  type Person,
  pidOf,
  senderPatient,
} from '../support/senders.ts';
import { takeUp } from '../support/take-up.ts';
import { withholdLabels } from '../support/withhold.ts';

let environment: Awaited<ReturnType<typeof createSenderEnvironment>>;
beforeAll(async () => {
  environment = await createSenderEnvironment();
});
afterAll(() => environment.gateway.close());

const subject = { reference: 'Patient/sender-patient' };
const LOINC = 'http://loinc.org';
const sodium = (value: number, changes: object = {}) => ({
  resourceType: 'Observation',
  id: 'na',
  status: 'final',
  subject,
  code: { coding: [{ system: LOINC, code: '2951-2', display: 'Sodium' }] },
  effectiveDateTime: '2026-11-20T08:00:00Z',
  valueQuantity: {
    value,
    unit: 'mmol/L',
    system: 'http://unitsofmeasure.org',
    code: 'mmol/L',
  },
  ...changes,
});
const report = (changes: object = {}) => ({
  resourceType: 'DiagnosticReport',
  id: 'panel-1',
  status: 'final',
  subject,
  code: {
    coding: [
      { system: LOINC, code: '51990-0', display: 'Basic metabolic panel' },
    ],
  },
  effectiveDateTime: '2026-11-20T08:00:00Z',
  result: [{ reference: 'Observation/na' }],
  ...changes,
});
const valuesOf = async (patientId: string) =>
  (await environment.resources('Observation', patientId)).map(
    ({ valueQuantity }) => valueQuantity?.value,
  );

describe('a result that a lab reports', () => {
  test('is in the record, with its report and where it came from', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    await environment.sendFhir(senderPatient(person), report(), sodium(140));
    expect(await environment.resources('Observation', patientId)).toMatchObject(
      [
        {
          subject: { reference: `Patient/${patientId}` },
          valueQuantity: { value: 140 },
        },
      ],
    );
    const [observation] = await environment.resources('Observation', patientId);
    expect(
      await environment.resources('DiagnosticReport', patientId),
    ).toMatchObject([
      { result: [{ reference: `Observation/${observation.id}` }] },
    ]);
    expect(observation.meta.source).toMatch(/^lab-message-of-mercy-/);
  });

  test('has its decimals as they were written, at every door', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const patient = senderPatient(person);
    const bundle = JSON.stringify({
      resourceType: 'Bundle',
      id: `decimals-of-${patientId}`,
      type: 'collection',
      entry: [patient, report({ id: 'panel-d' }), sodium(77)].map(
        (resource) => ({ resource }),
      ),
    }).replace('"value":77', '"value":77.00');
    expect((await environment.post('fhir', bundle)).statusCode).toBe(200);
    const oru = lab(
      person,
      '09',
      '0.1234567890123456789|g/dL|0.10-5.00',
    ).replace('||0.12', '||.12');
    await environment.send(oru);
    for (const path of [
      'Observation?patient=',
      `Patient/${patientId}/$everything?_=`,
    ]) {
      const { body } = await environment.account.call(
        'GET',
        `/fhir/R4/${path}${patientId}`,
      );
      expect(body).toContain('"value":77.00');
      expect(body).toContain('"value":0.1234567890123456789');
      expect(body).toContain('"low":{"value":0.10}');
      expect(body).not.toContain('urn:medical-exchange:written');
    }
    const consolidated = await environment.account.call(
      'GET',
      `patient/${patientId}/consolidated`,
    );
    expect(consolidated.body).toContain('"value":77.00');
    const [{ id }] = (
      await environment.resources('Observation', patientId)
    ).filter(({ valueQuantity }) => valueQuantity.value === 77);
    expect(
      (await environment.account.call('GET', `/fhir/R4/Observation/${id}`))
        .body,
    ).toContain('"value":77.00');
  });

  test('is corrected in place, and marked when it was a mistake', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    await environment.sendFhir(senderPatient(person), report(), sodium(140));
    await environment.sendFhir(
      senderPatient(person),
      report({ status: 'corrected' }),
      sodium(130, { status: 'corrected' }),
    );
    expect(await valuesOf(patientId)).toEqual([130]);
    await environment.sendFhir(
      senderPatient(person),
      report({ status: 'entered-in-error' }),
      sodium(130, { status: 'entered-in-error' }),
    );
    const statuses = (
      await environment.resources('Observation', patientId)
    ).map(({ status }) => status);
    expect(statuses).toEqual(['entered-in-error']);
  });

  test('leaves the record of a person whom the sender named by mistake', async () => {
    const wrong = newPerson();
    const right = newPerson();
    const wrongId = await environment.addPatient(wrong);
    const rightId = await environment.addPatient(right);
    const named = { id: 'panel-2', result: [{ reference: 'Observation/k' }] };
    const file = {
      contentType: 'application/pdf',
      data: Buffer.from('%PDF-1.4 of a result').toString('base64'),
    };
    const letter = {
      resourceType: 'DocumentReference',
      id: 'letter',
      status: 'current',
      subject,
      content: [{ attachment: file }],
    };
    const content = [report(named), sodium(139, { id: 'k' }), letter];
    await environment.sendFhir(senderPatient(wrong), ...content);
    expect(await valuesOf(wrongId)).toEqual([139]);
    const documentsOf = async (id: string) =>
      (await environment.account.call('GET', `document?patientId=${id}`)).json()
        .documents;
    const [document] = await documentsOf(wrongId);
    expect(document).toMatchObject({
      content: [{ attachment: { contentType: 'application/pdf', size: 20 } }],
    });
    const [{ meta }] = await environment.resources('Observation', wrongId);

    await environment.sendFhir(senderPatient(right), ...content);
    expect([await valuesOf(wrongId), await valuesOf(rightId)]).toEqual([
      [],
      [139],
    ]);
    expect([
      (await documentsOf(wrongId)).length,
      (await documentsOf(rightId)).length,
    ]).toEqual([0, 1]);
    for (const name of [document.content[0].attachment.title, meta.source]) {
      const answer = await environment.account.call(
        'GET',
        `document/download-url?fileName=${name}`,
      );
      expect(answer.statusCode, answer.body).toBe(410);
    }
  });

  test('follows the sender when that correction is corrected', async () => {
    const first = newPerson();
    const second = newPerson();
    const firstId = await environment.addPatient(first);
    const secondId = await environment.addPatient(second);
    const content = [
      report({ id: 'panel-3', result: [{ reference: 'Observation/cl' }] }),
      sodium(101, { id: 'cl' }),
    ];
    for (const person of [first, second, first])
      await environment.sendFhir(senderPatient(person), ...content);
    expect([await valuesOf(firstId), await valuesOf(secondId)]).toEqual([
      [101],
      [],
    ]);
  });

  test('is one with what the lab’s network delivers, although both call it by the same id', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    await environment.sendFhir(
      senderPatient(person),
      report({ id: 'panel-4' }),
      sodium(144),
    );
    await environment.deliver(
      patientId,
      sodium(144, { subject: { reference: 'Patient/net' } }),
    );
    expect(await valuesOf(patientId)).toEqual([144]);
  });

  test('is recorded in no account whose cohorts did not ask for results', async () => {
    const person = newPerson();
    const other = await environment.gateway.addAccount();
    const created = await other.call(
      'POST',
      `patient?facilityId=${other.facilityId}`,
      person,
    );
    const theirs = created.json().id;
    const ours = await environment.addPatient(person);
    await environment.sendFhir(
      senderPatient(person),
      report({ id: 'panel-5' }),
      sodium(150),
    );
    expect(await valuesOf(ours)).toEqual([150]);
    expect(await environment.resources('Observation', theirs, other)).toEqual(
      [],
    );
  });

  test('is recorded by reconcile when the process that took it in died', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    environment.stopRecording();
    await environment.sendFhir(
      senderPatient(person),
      report({ id: 'panel-6' }),
      sodium(151),
    );
    await environment.sendFhir(
      senderPatient(person),
      report({ id: 'panel-6', status: 'corrected' }),
      sodium(152, { status: 'corrected' }),
    );
    environment.startRecording();
    expect(await valuesOf(patientId)).toEqual([]);
    await environment.age();
    expect(await takeUp(environment.recordings.recovery)).toBe(1);
    expect(await valuesOf(patientId)).toEqual([152]);
    expect(await takeUp(environment.recordings.recovery)).toBe(0);
  });

  test('ends with its last correction although all of them arrive at once', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const versions = [1, 2, 3, 4, 5, 6].map((minute) => {
      const meta = { lastUpdated: `2026-11-20T09:0${minute}:00Z` };
      return [
        report({
          id: 'panel-7',
          meta,
          result: [{ reference: 'Observation/na' }],
        }),
        sodium(160 + minute, { meta, status: 'corrected' }),
      ];
    });
    await Promise.all(
      [...versions]
        .reverse()
        .map((content) =>
          environment.sendFhir(senderPatient(person), ...content),
        ),
    );
    await environment.age();
    await takeUp(environment.recordings.recovery);
    expect(await valuesOf(patientId)).toEqual([166]);
  });

  test('is named in the completeness of the record: by message, and when', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    await environment.sendFhir(
      senderPatient(person),
      report({ id: 'panel-8' }),
      sodium(145),
    );
    const standing = await environment.gateway.store.asAccount(
      environment.account.accountId,
      (tx) => readRecordCompleteness(tx, patientId),
    );
    const lab = standing.sources.find(({ source }) => source === 'lab');
    expect(lab).toMatchObject({
      resources: 2,
      messages: { resources: 2, last: expect.any(Date) },
    });
    expect(completenessLines(standing).join()).toContain(
      'of these 2 resources by message, last ',
    );
    const everything = await environment.account.call(
      'GET',
      `/fhir/R4/Patient/${patientId}/$everything`,
    );
    expect(everything.body).toContain('Observation of lab, by message');
  });

  test('has its C-CDA document read into the record by reconcile', async () => {
    const [sample] = samples;
    if (sample === undefined) throw new Error('There are no samples');
    const person = {
      ...newPerson(),
      ...sample.createBody,
      contact: [],
      personalIdentifiers: [],
    } as Person;
    const patientId = await environment.addPatient(person);
    const data = gunzipSync(
      readFileSync(`samples/${sample.ccdaFile}`),
    ).toString('base64');
    const patient = { ...senderPatient(person), gender: 'male' };
    await environment.sendFhir(
      patient,
      report({ id: 'panel-9' }),
      sodium(146),
      {
        resourceType: 'DocumentReference',
        id: 'summary',
        status: 'current',
        subject,
        content: [{ attachment: { contentType: 'application/xml', data } }],
      },
    );
    expect(await environment.resources('Immunization', patientId)).toEqual([]);
    await environment.age();
    expect(await takeUp(environment.recordings.recovery)).toBe(1);
    expect(
      (await environment.resources('Immunization', patientId)).length,
    ).toBeGreaterThan(0);
    // What was read from a document of a message came by message.
    const standing = await environment.gateway.store.asAccount(
      environment.account.accountId,
      (tx) => readRecordCompleteness(tx, patientId),
    );
    const lab = standing.sources.find(({ source }) => source === 'lab');
    expect(lab?.fromDocuments).toBe(0);
    expect(lab?.messages?.resources).toBe(lab?.resources);
  });
});

const pdf = Buffer.from('%PDF-1.4 of a blood count').toString('base64');
/** A blood count with its report as a file. */
const lab = (person: Person, hour: string, result: string, record?: string) =>
  [
    mshOf('ORU^R01', hour),
    pidOf(person, record),
    `OBR|1||F-${person.lastName}^ACME|58410-2^CBC panel^LN|||202611200700+0000|||||||||||||||20261120${hour}00+0000||LAB|F`,
    `OBX|1|NM|718-7^Hemoglobin^LN||${result}`,
    `OBX|2|ED|11502-2^Laboratory report^LN||LAB^application^pdf^Base64^${pdf}||||||F`,
  ].join('\r');

describe('a stay that a hospital reports', () => {
  const adt = (
    person: Person,
    event: string,
    hour: string,
    pv1: Record<number, string> = {},
  ) => adtMessage(person, { event, hour, visit: `v-${person.lastName}`, pv1 });

  test('is an Encounter of the record, ended by its discharge and opened again when that is cancelled', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const encounter = async () =>
      (await environment.resources('Encounter', patientId))[0];
    await environment.send(adt(person, 'A01', '08'));
    expect(await encounter()).toMatchObject({
      status: 'in-progress',
      class: { code: 'IMP' },
      period: { start: '2026-11-20T08:00:00.000Z' },
    });
    await environment.send(adt(person, 'A03', '12'));
    expect(await encounter()).toMatchObject({
      status: 'finished',
      period: { end: '2026-11-20T12:00:00.000Z' },
    });
    await environment.send(adt(person, 'A13', '13'));
    const open = await encounter();
    expect([open.status, open.period.end]).toEqual(['in-progress', undefined]);
    await environment.send(adt(person, 'A11', '14'));
    expect(await environment.resources('Encounter', patientId)).toMatchObject([
      { status: 'cancelled' },
    ]);
  });

  test('moves to the right person when the sender merges two records', async () => {
    const wrong = newPerson();
    const right = newPerson();
    const wrongId = await environment.addPatient(wrong);
    const rightId = await environment.addPatient(right);
    await environment.send(adt(wrong, 'A01', '08'));
    await environment.send(
      adtMessage(right, {
        event: 'A40',
        hour: '09',
        prior: `R-${wrong.lastName}`,
      }),
    );
    const counts = [wrongId, rightId].map(
      async (id) => (await environment.resources('Encounter', id)).length,
    );
    expect(await Promise.all(counts)).toEqual([0, 1]);
  });

  test('ends with a death that is in the record until the sender takes it back', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const deceased = async () => {
      const path = `/fhir/R4/Patient/${patientId}`;
      const answer = await environment.account.call('GET', path);
      const { deceasedDateTime, deceasedBoolean } = answer.json();
      return deceasedDateTime ?? deceasedBoolean;
    };
    const withDeath = (message: string, time: string, indicator: string) =>
      message.replace(/^PID.*$/m, (line) => {
        const fields = line.split('|');
        while (fields.length < 31) fields.push('');
        fields[29] = time;
        fields[30] = indicator;
        return fields.join('|');
      });

    await environment.send(adt(person, 'A01', '08'));
    expect(await deceased()).toBeUndefined();

    const died = adt(person, 'A03', '12');
    await environment.send(withDeath(died, '20261120113000+0000', 'Y'));
    expect(await deceased()).toBe('2026-11-20T11:30:00.000Z');

    const alive = adt(person, 'A08', '13');
    await environment.send(withDeath(alive, '', 'N'));
    expect(await deceased()).toBeUndefined();

    const person31 = adt(person, 'A31', '14');
    await environment.send(withDeath(person31, '20261120', 'Y'));
    expect(await deceased()).toBe('2026-11-20');

    await environment.send(adt(person, 'A08', '15'));
    expect(await deceased()).toBe('2026-11-20');
  });

  test('of a FHIR message has the death that its Patient states', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const patient = { ...senderPatient(person), deceasedBoolean: true };
    await environment.sendFhir(
      patient,
      report({ id: 'panel-dead' }),
      sodium(140),
    );
    const path = `/fhir/R4/Patient/${patientId}`;
    const answer = await environment.account.call('GET', path);
    expect(answer.json().deceasedBoolean).toBe(true);
  });

  test('begins with a registration where nobody is admitted, and once where somebody is', async () => {
    const emergency = newPerson();
    const outpatient = newPerson();
    const emergencyId = await environment.addPatient(emergency);
    const outpatientId = await environment.addPatient(outpatient);
    await environment.send(
      adt(emergency, 'A05', '07', { 44: '20261121080000+0000' }),
      adt(emergency, 'A04', '08', { 2: 'E' }),
      adt(emergency, 'A01', '10'),
      adt(outpatient, 'A04', '08', { 2: 'O' }),
    );
    expect(await environment.resources('Encounter', emergencyId)).toMatchObject(
      [
        {
          status: 'in-progress',
          period: { start: '2026-11-20T08:00:00.000Z' },
        },
      ],
    );
    const notified = async (id: string) =>
      (await environment.account.call('GET', `notification?patientId=${id}`))
        .json()
        .notifications.map(({ type }: { type: string }) => type);
    expect(await notified(emergencyId)).toEqual(['patient.admit']);
    expect(await notified(outpatientId)).toEqual([]);
    expect(
      await environment.resources('Encounter', outpatientId),
    ).toMatchObject([{ class: { code: 'AMB' } }]);
  });

  test('and its results go to the right person when the sender corrects the person of the record', async () => {
    const wrong = newPerson();
    const right = newPerson();
    const wrongId = await environment.addPatient(wrong);
    const rightId = await environment.addPatient(right);
    const corrected = [
      mshOf('ADT^A31', '12'),
      'EVN||20261120120000+0000',
      pidOf(right, `R-${wrong.lastName}`),
    ];
    await environment.send(
      adt(wrong, 'A01', '08'),
      lab(wrong, '0900', '7.7|g/dL|12-16||||F'),
    );
    expect(await valuesOf(wrongId)).toEqual([7.7]);
    await environment.send(corrected.join('\r'));
    const counts = [wrongId, rightId].map(
      async (id) => (await environment.resources('Encounter', id)).length,
    );
    expect(await Promise.all(counts)).toEqual([0, 1]);
    expect([await valuesOf(wrongId), await valuesOf(rightId)]).toEqual([
      [],
      [7.7],
    ]);
    // One about a record of which nothing is known is taken, too.
    await environment.send(
      adtMessage(newPerson(), { event: 'A31', hour: '13' }),
    );
  });

  test('keeps what the sender’s own Encounter says besides', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    await environment.sendFhir(
      senderPatient(person),
      {
        resourceType: 'Encounter',
        id: 'enc',
        status: 'in-progress',
        class: { code: 'EMER' },
        subject,
        period: { start: '2026-11-20T08:00:00Z' },
        reasonCode: [{ text: 'Chest pain' }],
      },
      {
        resourceType: 'Condition',
        id: 'cond',
        subject,
        encounter: { reference: 'Encounter/enc' },
        code: { text: 'Angina' },
      },
    );
    const [encounter] = await environment.resources('Encounter', patientId);
    expect(encounter.reasonCode).toEqual([{ text: 'Chest pain' }]);
    expect(await environment.resources('Condition', patientId)).toMatchObject([
      { encounter: { reference: `Encounter/${encounter.id}` } },
    ]);
  });
});

test('a fill that a pharmacy reports is in the record, also as cancelled', async () => {
  const person = newPerson();
  const patientId = await environment.addPatient(person);
  const dispense = (status: string) => ({
    resourceType: 'MedicationDispense',
    id: 'fill-1',
    status,
    subject,
    medicationCodeableConcept: { text: 'Amoxicillin 500 mg' },
    whenHandedOver: '2026-11-20T10:00:00Z',
  });
  await environment.sendFhir(senderPatient(person), dispense('completed'));
  expect(
    await environment.resources('MedicationDispense', patientId),
  ).toMatchObject([{ status: 'completed' }]);
  await environment.sendFhir(senderPatient(person), dispense('cancelled'));
  expect(
    await environment.resources('MedicationDispense', patientId),
  ).toMatchObject([{ status: 'cancelled' }]);
});

describe('HL7 v2 messages', () => {
  test('of a lab become results and documents, which corrections change in place', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    await environment.send(lab(person, '0900', '13.5|g/dL^^UCUM|12-16||||F'));
    await environment.send(lab(person, '1000', '15.3|g/dL^^UCUM|12-16||||C'));
    expect(await environment.resources('Observation', patientId)).toMatchObject(
      [
        {
          status: 'corrected',
          valueQuantity: { value: 15.3 },
          subject: { reference: `Patient/${patientId}` },
        },
      ],
    );
    expect(
      await environment.resources('DiagnosticReport', patientId),
    ).toMatchObject([
      { result: [{ reference: expect.stringMatching(/^Observation\//) }] },
    ]);
    const { documents } = (
      await environment.account.call('GET', `document?patientId=${patientId}`)
    ).json();
    expect(documents).toMatchObject([
      {
        content: [{ attachment: { contentType: 'application/pdf', size: 25 } }],
      },
    ]);
    await environment.send(lab(person, '1100', '15.3|g/dL^^UCUM|12-16||||W'));
    expect(await environment.resources('Observation', patientId)).toMatchObject(
      [{ status: 'entered-in-error' }],
    );
  });

  test('of a lab that named the wrong patient leave the record with the correction', async () => {
    const wrong = newPerson();
    const right = newPerson();
    const wrongId = await environment.addPatient(wrong);
    const rightId = await environment.addPatient(right);
    const first = lab(wrong, '0900', '9.9|g/dL|12-16||||F');
    await environment.send(first);
    expect(await valuesOf(wrongId)).toEqual([9.9]);
    const [, pid = ''] = first.split('\r');
    await environment.send(
      lab(wrong, '1000', '9.9|g/dL|12-16||||C').replace(pid, pidOf(right)),
    );
    expect([await valuesOf(wrongId), await valuesOf(rightId)]).toEqual([
      [],
      [9.9],
    ]);
  });

  test('of a pharmacy become fills, also behind the link of the webhook', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    await environment.send(
      [
        mshOf('RDS^O13', '0900'),
        pidOf(person),
        'ORC|RE',
        'RXD|1|308182^Amoxicillin 500 mg^RXNORM|202611200830+0000|30|EA^capsule||RX-7',
      ].join('\r'),
    );
    const fill = {
      medicationCodeableConcept: { text: 'Amoxicillin 500 mg' },
      quantity: { value: 30 },
    };
    expect(
      await environment.resources('MedicationDispense', patientId),
    ).toMatchObject([fill]);
    const listed = await environment.account.call(
      'GET',
      `notification?patientId=${patientId}`,
    );
    const [notification] = listed.json().notifications;
    expect(notification).toMatchObject({
      type: 'patient.pharmacy',
      occurredAt: '2026-11-20T08:30:00.000Z',
    });
    const { pathname, search } = new URL(notification.url);
    const { entry } = (
      await environment.gateway.app.inject({ url: `${pathname}${search}` })
    ).json();
    expect(entry[1].resource).toMatchObject({
      ...fill,
      subject: { reference: `Patient/${patientId}` },
    });
  });

  test('of the simulated laboratory and pharmacy fill a record', async () => {
    const sample = samples[1];
    if (sample === undefined) throw new Error('There are too few samples');
    const person = {
      ...newPerson(),
      ...sample.createBody,
      contact: [],
      personalIdentifiers: [],
    } as Person;
    const patientId = await environment.addPatient(person);
    const facts = { id: 'of-the-simulator', sample, record: 'R-1' };
    await environment.send(
      resultMessage({
        ...facts,
        event: { event: 'result', at: '2026-11-20T08:00:00Z' },
      }),
      fillMessage({
        ...facts,
        id: 'fill',
        event: { event: 'fill', at: '2026-11-20T09:00:00Z' },
      }),
    );
    expect((await valuesOf(patientId)).sort()).toEqual([139, 5.4, 92]);
    expect(
      await environment.resources('MedicationDispense', patientId),
    ).toMatchObject([
      {
        quantity: { value: 30, unit: 'tablet' },
        whenHandedOver: '2026-11-20T09:00:00.000Z',
      },
    ]);
    expect(
      (
        await environment.account.call('GET', `document?patientId=${patientId}`)
      ).json().documents,
    ).toHaveLength(1);
  });
});

describe('what a sender marks as confidential', () => {
  const labelled = async (type: string, patientId: string) =>
    (await environment.resources(type, patientId)).map(({ meta }) =>
      (meta.security ?? []).map(({ code }: { code: string }) => code),
    );

  test('is labelled in the record: an order, a diagnosis, a protected person and the stay itself', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const oru = lab(person, '09', '5|g/dL|');
    await environment.send(
      oru.replace('\rOBR', `\r${hl7Segment('ORC', { 1: 'RE', 28: 'R' })}\rOBR`),
    );
    expect(await labelled('Observation', patientId)).toEqual([['R']]);
    expect(await labelled('DiagnosticReport', patientId)).toEqual([['R']]);
    const stay = (more: Record<string, Record<number, string>>) =>
      [
        adtMessage(person, { event: 'A01', hour: '10', visit: 'V-R' }),
        ...Object.entries(more).map(([name, fields]) =>
          hl7Segment(name, fields),
        ),
      ].join('\r');
    await environment.send(
      stay({ DG1: { 3: 'F11.20^Opioid dependence^I10', 18: 'Y' } }),
    );
    expect(await labelled('Condition', patientId)).toEqual([['R']]);
    expect(await labelled('Encounter', patientId)).toEqual([[]]);
    await environment.send(stay({ PD1: { 12: 'Y' } }));
    expect(await labelled('Encounter', patientId)).toEqual([['R']]);
  });

  test('does not leave by the link of a notification, nor by the record', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const { accountId } = environment.account;
    await withholdLabels(environment.gateway.store, accountId, ['R']);
    try {
      const plain = {
        id: `free-${patientId}`,
        code: { text: 'A free result' },
      };
      const secret = {
        id: `held-${patientId}`,
        code: { text: 'A zebra' },
        meta: { security: [{ code: 'R' }] },
      };
      await environment.sendFhir(
        senderPatient(person),
        report({
          id: `panel-${patientId}`,
          result: [plain, secret].map(({ id }) => ({
            reference: `Observation/${id}`,
          })),
          conclusion: 'A zebra',
        }),
        sodium(140, plain),
        sodium(140, secret),
      );
      const { notifications } = (
        await environment.account.call(
          'GET',
          `notification?patientId=${patientId}`,
        )
      ).json();
      const link = await environment.account.call(
        'GET',
        notifications[0].url.replace(TEST_BASE_URL, ''),
      );
      expect(link.body).toContain('A free result');
      expect(link.body).not.toContain('zebra');
      const record = await environment.account.call(
        'GET',
        `patient/${patientId}/consolidated`,
      );
      expect(record.body).toContain('A free result');
      expect(record.body).not.toContain('zebra');
    } finally {
      await withholdLabels(environment.gateway.store, accountId, []);
    }
  });
});
