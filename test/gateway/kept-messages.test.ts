import { createHmac } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findingsOf } from '../../src/exchange/operations/ops/findings.ts';
import { readOperationsReport } from '../../src/exchange/operations/ops/report.ts';
import { newPerson } from '../support/gateway.ts';
import { runAdminOn } from '../support/run-admin.ts';
import {
  adtMessage,
  createSenderEnvironment,
  type Person,
  pidOf,
  senderPatient,
} from '../support/senders.ts';
import { TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

let environment: Awaited<ReturnType<typeof createSenderEnvironment>>;
beforeAll(async () => {
  environment = await createSenderEnvironment();
});
afterAll(() => environment.gateway.close());

let count = 0;
const nextNumber = () => `number-${++count}`;
const MSH = (
  type: string,
  number: string,
  { application = 'FEED', sent = '0900' } = {},
) =>
  `MSH|^~\\&|${application}|MERCY|HUB|X|20261120${sent}00+0000||${type}|${number}|P|2.5.1`;
const admission = (person: Person, number: string) =>
  adtMessage(person, {
    event: 'A01',
    hour: '08',
    visit: `v-${person.lastName}`,
  }).replace(/^MSH.*/, MSH('ADT^A01', number));
/** A glucose of the person. */
function glucose(
  person: Person,
  value: number,
  of: {
    number?: string;
    application?: string;
    sent?: string;
    status?: string;
  } = {},
) {
  const { number = nextNumber(), status = 'F', ...header } = of;
  return [
    MSH('ORU^R01', number, header),
    pidOf(person),
    `OBR|1||F-${person.lastName}^ACME|2345-7^Glucose^LN|||202611200800+0000||||||||||||||||||LAB|${status}`,
    `OBX|1|NM|2345-7^Glucose^LN||${value}|mg/dL|70-99|HH|||${status}`,
  ].join('\r');
}
const glucoseOf = async (patientId: string) =>
  (await environment.resources('Observation', patientId)).map(
    ({ status, valueQuantity }) => [status, valueQuantity.value],
  );
async function stored(number: string): Promise<{ reused: boolean }[]> {
  const control = (application: string) =>
    createHmac('sha256', TEST_ID_HMAC_KEY)
      .update(
        JSON.stringify([
          'inbound',
          'mercy',
          'control',
          JSON.stringify([application, 'MERCY', number]),
        ]),
      )
      .digest();
  const { rows } = await environment.gateway.store.asSystem((tx) =>
    sql<{
      reused: boolean;
    }>`select is_number_reused as reused from inbound_message
      where control_key = any(${[control('FEED'), control('LAB')]}::bytea[]) order by received_at, id`.execute(
      tx.db,
    ),
  );
  return rows;
}

describe('a message that is answered AA is kept', () => {
  test('although another application behind the same sender has used its number', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const number = nextNumber();
    await environment.send(
      admission(person, number),
      glucose(person, 412, { number, application: 'LAB' }),
    );
    expect(await glucoseOf(patientId)).toEqual([['final', 412]]);
    expect(await environment.resources('Encounter', patientId)).toHaveLength(1);
    expect(await stored(number)).toEqual([
      { reused: false },
      { reused: false },
    ]);
  });

  test('although the same application has used its number, and is marked', async () => {
    const first = newPerson();
    const second = newPerson();
    const ids = [
      await environment.addPatient(first),
      await environment.addPatient(second),
    ];
    const number = nextNumber();
    await environment.send(
      glucose(first, 88, { number }),
      glucose(second, 412, { number }),
    );
    expect(await Promise.all(ids.map(glucoseOf))).toEqual([
      [['final', 88]],
      [['final', 412]],
    ]);
    expect(await stored(number)).toEqual([{ reused: false }, { reused: true }]);
  });

  test('once, however often it is sent, also at another time', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const number = nextNumber();
    await environment.send(
      glucose(person, 90, { number }),
      glucose(person, 91, { sent: '0930', status: 'C' }),
    );
    await environment.send(
      glucose(person, 90, { number }),
      glucose(person, 90, { number, sent: '1000' }),
    );
    expect(await glucoseOf(patientId)).toEqual([['corrected', 91]]);
    expect(await stored(number)).toHaveLength(1);
  });

  test.each([
    [
      'result',
      'Observation',
      (person: Person, day: string) => [
        MSH('ORU^R01', nextNumber()),
        pidOf(person),
        `OBR|1||F-77^ACME|2345-7^Glucose^LN|||202611${day}0800+0000||||||||||||||||||LAB|F`,
        `OBX|1|NM|2345-7^Glucose^LN||88|mg/dL|||||${day === '10' ? 'C' : 'F'}`,
      ],
    ],
    [
      'order',
      'ServiceRequest',
      (person: Person, day: string) => [
        MSH('OML^O21', nextNumber()),
        pidOf(person),
        `ORC|NW|P-77||||||202611${day}0800|202611${day}0800`,
        'OBR|1|P-77||2345-7^Glucose^LN',
      ],
    ],
    [
      'stay',
      'Encounter',
      (person: Person, day: string) => [
        MSH('ADT^A01', nextNumber()),
        `EVN||202611${day}0800`,
        pidOf(person),
        `PV1|1|I|W1||||||||||||||||V-77|||||||||||||||||||||||||202611${day}0800`,
      ],
    ],
  ])(
    'although a counter of its sender began anew: a %s of each person, each changed by itself',
    async (_, type, message) => {
      const first = newPerson();
      const second = newPerson();
      const ids = [
        await environment.addPatient(first),
        await environment.addPatient(second),
      ];
      const counts = () =>
        Promise.all(
          ids.map(async (id) => (await environment.resources(type, id)).length),
        );
      const send = (person: Person, day: string) =>
        environment.send(message(person, day).join('\r'));
      await send(first, '03');
      await send(second, '09');
      expect(await counts()).toEqual([1, 1]);
      await send(first, '03');
      await send(second, '10');
      expect(await counts()).toEqual([1, 1]);
    },
  );

  test('and moves to the right person when only the person was wrong', async () => {
    const wrong = newPerson();
    const right = newPerson();
    const ids = [
      await environment.addPatient(wrong),
      await environment.addPatient(right),
    ];
    const number = (text: string) =>
      text.replace(`F-${right.lastName}`, `F-${wrong.lastName}`);
    await environment.send(
      glucose(wrong, 88),
      number(glucose(right, 88, { status: 'C' })),
    );
    expect(await Promise.all(ids.map(glucoseOf))).toEqual([
      [],
      [['corrected', 88]],
    ]);
  });

  test('for each of two persons, where the second message corrects nothing', async () => {
    const first = newPerson();
    const second = newPerson();
    const ids = [
      await environment.addPatient(first),
      await environment.addPatient(second),
    ];
    const number = (text: string) =>
      text.replace(`F-${second.lastName}`, `F-${first.lastName}`);
    await environment.send(glucose(first, 88), number(glucose(second, 412)));
    expect(await Promise.all(ids.map(glucoseOf))).toEqual([
      [['final', 88]],
      [['final', 412]],
    ]);
    await environment.send(number(glucose(second, 413, { status: 'C' })));
    expect(await Promise.all(ids.map(glucoseOf))).toEqual([
      [['final', 88]],
      [['corrected', 413]],
    ]);
  });

  test('for each of two specimens of a person, whose number is the same', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const later = (text: string) =>
      text.replaceAll('202611200800', '202611201600');
    await environment.send(
      glucose(person, 88),
      later(glucose(person, 412)),
      later(glucose(person, 413, { status: 'C', sent: '1000' })),
    );
    expect((await glucoseOf(patientId)).sort()).toEqual([
      ['corrected', 413],
      ['final', 88],
    ]);
  });

  test('as a Bundle whose id was used before for something else', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const observation = (id: string, value: number) => ({
      resourceType: 'Observation',
      id,
      status: 'final',
      effectiveDateTime: '2026-11-20T08:00:00Z',
      subject: { reference: 'Patient/sender-patient' },
      valueQuantity: { value, unit: 'mg/dL' },
      code: { coding: [{ system: 'http://loinc.org', code: '2345-7' }] },
    });
    for (const each of [observation('a', 90), observation('b', 412)]) {
      const entry = [senderPatient(person), each].map((resource) => ({
        resource,
      }));
      const bundle = {
        resourceType: 'Bundle',
        id: 'always-the-same',
        type: 'collection',
        entry,
      };
      expect(
        (await environment.post('fhir', JSON.stringify(bundle))).statusCode,
      ).toBe(200);
    }
    await environment.recordings.drain();
    expect((await glucoseOf(patientId)).sort()).toEqual([
      ['final', 412],
      ['final', 90],
    ]);
  });
});

test('a FHIR message that names an element twice is refused, instead of losing the first', async () => {
  const person = newPerson();
  const patientId = await environment.addPatient(person);
  const observation = {
    resourceType: 'Observation',
    id: 'twice',
    status: 'final',
    subject: { reference: 'Patient/p' },
    code: { coding: [{ system: 'http://loinc.org', code: '2345-7' }] },
    valueQuantity: { value: 412 },
  };
  const entry = [senderPatient(person), observation].map((resource) => ({
    resource,
  }));
  const bundle = JSON.stringify({
    resourceType: 'Bundle',
    id: 'twice',
    type: 'collection',
    entry,
  });
  const response = await environment.post(
    'fhir',
    bundle.replace('"value":412', '"value":90,"value":412'),
  );
  expect(response.statusCode).toBe(400);
  expect(response.json().issue[0].diagnostics).toBe(
    'The body is JSON that names an element twice',
  );
  expect(await glucoseOf(patientId)).toEqual([]);
  expect((await environment.post('fhir', `\uFEFF${bundle}`)).statusCode).toBe(
    200,
  );
});

/**
 * A correction counts over a final result, that over a preliminary one; among
 * equals, the last to arrive.
 */
const RANKS = ['P', 'F', 'C'] as const;
const STATES = { P: 'preliminary', F: 'final', C: 'corrected' };
const sequences = (length: number): (typeof RANKS)[number][][] =>
  length === 0
    ? [[]]
    : sequences(length - 1).flatMap((before) =>
        RANKS.map((status) => [...before, status]),
      );

test('of results sent in the same minute the record has the right one, in every order of arrival', async () => {
  const cases = await Promise.all(
    [2, 3].flatMap(sequences).map(async (statuses) => {
      const person = newPerson();
      return {
        statuses,
        person,
        patientId: await environment.addPatient(person),
      };
    }),
  );
  for (const round of [0, 1, 2])
    await environment.send(
      ...cases.flatMap(({ statuses, person }) => {
        const status = statuses[round];
        return status === undefined
          ? []
          : [glucose(person, 100 + round, { status })];
      }),
    );
  for (const { statuses, patientId } of cases) {
    const highest = RANKS.findLast((rank) => statuses.includes(rank)) ?? 'P';
    const expected = [[STATES[highest], 100 + statuses.lastIndexOf(highest)]];
    expect(await glucoseOf(patientId), statuses.join()).toEqual(expected);
  }
});

test('documents, vaccinations, orders, prescriptions and appointments are in the record, and follow a merge of records', async () => {
  const person = newPerson();
  const other = newPerson();
  const patientId = await environment.addPatient(person);
  const otherId = await environment.addPatient(other);
  const tag = person.lastName;
  const send = (type: string, ...segments: string[]) =>
    environment.send(
      [MSH(type, nextNumber()), pidOf(person), ...segments].join('\r'),
    );
  await send(
    'VXU^V04',
    `ORC|RE||V-${tag}`,
    'RXA|0|1|20261101||140^Influenza^CVX|0.50|mL',
  );
  await send(
    'MDM^T02',
    `TXA|1|DS^Summary^L|||||||||||D-${tag}^EHR`.replace(
      '|||||||||||D',
      '||||||||||D',
    ),
    'OBX|1|TX|||Seen today',
  );
  await send('SIU^S12', `SCH||A-${tag}|||||||30|MIN|^^^202612010900+0000`);
  await send('OML^O21', `ORC|NW|P-${tag}`, `OBR|1|P-${tag}||2345-7^Glucose^LN`);
  await send(
    'RDE^O11',
    `ORC|NW|R-${tag}`,
    'RXE||308182^Amoxicillin^RXNORM|||||||||30|EA',
  );
  const types = [
    'Immunization',
    'DocumentReference',
    'Appointment',
    'ServiceRequest',
    'MedicationRequest',
  ];
  const counts = (id: string) =>
    Promise.all(
      types.map(async (type) => (await environment.resources(type, id)).length),
    );
  expect(await counts(patientId)).toEqual([1, 1, 1, 1, 1]);
  const { body } = await environment.account.call(
    'GET',
    `/fhir/R4/Immunization?patient=${patientId}`,
  );
  expect(body).toContain('"value":0.50');
  await send('OML^O21', `ORC|CA|P-${tag}`, `OBR|1|P-${tag}||2345-7^Glucose^LN`);
  expect(
    await environment.resources('ServiceRequest', patientId),
  ).toMatchObject([{ status: 'revoked' }]);
  // Nothing was announced.
  expect(
    (
      await environment.account.call(
        'GET',
        `notification?patientId=${patientId}`,
      )
    ).json().notifications,
  ).toEqual([]);
  const merge = adtMessage(other, {
    event: 'A40',
    hour: '10',
    prior: `R-${tag}`,
  });
  await environment.send(merge);
  expect([await counts(patientId), await counts(otherId)]).toEqual([
    [0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1],
  ]);
});

test('allergies, diagnoses and procedures that come with a stay are in the record, and stay when a later message lacks them', async () => {
  const person = newPerson();
  const patientId = await environment.addPatient(person);
  const send = (event: string, minute: string, ...segments: string[]) =>
    environment.send(
      [
        MSH(`ADT^${event}`, nextNumber(), { sent: `09${minute}` }),
        `EVN||2026112009${minute}`,
        pidOf(person),
        `PV1|1|I|W1||||||||||||||||V-${person.lastName}|||||||||||||||||||||||||202611200800`,
        ...segments,
      ].join('\r'),
    );
  const latex = 'AL1|1|EA|1003755004^Latex^SCT|SV|Hives~Wheezing|20200101';
  await send('A01', '00', latex, 'DG1|1||J18.9^Pneumonia^I10|||A');
  await send(
    'A08',
    '10',
    'DG1|1||J18.9^Pneumonia^I10|||F',
    'PR1|1||36.1^Bypass^L||20261120083000',
    'DG1|2||',
  );
  const all = async (type: string) => environment.resources(type, patientId);
  expect(await all('AllergyIntolerance')).toMatchObject([
    {
      code: { text: 'Latex' },
      category: ['environment'],
      reaction: [
        {
          severity: 'severe',
          manifestation: [{ text: 'Hives' }, { text: 'Wheezing' }],
        },
      ],
    },
  ]);
  expect(await all('Condition')).toMatchObject([
    {
      code: {
        coding: [
          { system: 'http://hl7.org/fhir/sid/icd-10-cm', code: 'J18.9' },
        ],
      },
      verificationStatus: { coding: [{ code: 'confirmed' }] },
    },
  ]);
  expect(await all('Procedure')).toMatchObject([
    { code: { text: 'Bypass' }, status: 'completed' },
  ]);
  expect(await all('Encounter')).toMatchObject([{ status: 'in-progress' }]);
  await send('A08', '20', 'DG1|1||J18.9^Pneumonia^I10|||F|||||||||||||||D');
  expect(await all('Condition')).toMatchObject([
    { verificationStatus: { coding: [{ code: 'entered-in-error' }] } },
  ]);
});

test("a sender's messages are read in shadow: what would be recorded, matched, refused and not used, and nothing is kept", async () => {
  const person = newPerson();
  const patientId = await environment.addPatient(person);
  const folder = await mkdtemp(join(tmpdir(), 'senders-check-'));
  const local = glucose(newPerson(), 91).replace(
    '2345-7^Glucose^LN||91',
    'GLU^Glucose^L||91',
  );
  await writeFile(
    join(folder, 'a.hl7'),
    [glucose(person, 90), local].join('\r'),
  );
  await writeFile(
    join(folder, 'b.hl7'),
    glucose(person, 92).replace(/OBR\|1\|\|[^|]*/, 'OBR|1||'),
  );
  await writeFile(
    join(folder, 'c.hl7'),
    `${admission(person, nextNumber())}\rNK1|1|Secret^Name`,
  );
  await writeFile(
    join(folder, 'd.json'),
    JSON.stringify({ resourceType: 'Patient' }),
  );
  const { exitCode, document, out } = await runAdminOn(
    environment.gateway.store,
    'senders',
    'check',
    folder,
  );
  expect(exitCode).toBe(3);
  expect(document).toMatchObject({
    messages: 5,
    kinds: {
      R01: { matched: 1, unmatched: 1 },
      A01: { matched: 1 },
      refused: { refused: 2 },
    },
    recorded: { DiagnosticReport: 2, Observation: 2 },
    unused: { NK1: 1 },
    localCodes: { 'Observation GLU Glucose': 1 },
    refused: [
      { message: 'b.hl7, message 1', place: 'OBR-3' },
      { message: 'd.json' },
    ],
  });
  expect(out).not.toContain('Secret');
  expect(out).not.toContain(person.lastName);
  expect(await environment.resources('Observation', patientId)).toEqual([]);
  const empty = await runAdminOn(
    environment.gateway.store,
    'senders',
    'check',
    join(folder, 'none'),
  );
  expect([empty.exitCode, empty.out + empty.err]).toEqual([
    2,
    expect.stringContaining('cannot be read'),
  ]);
});

test('a batch is answered message by message', async () => {
  const person = newPerson();
  const patientId = await environment.addPatient(person);
  const batch = [
    'BHS|^~\\&',
    glucose(person, 90),
    glucose(newPerson(), 91).replace('ORU^R01', 'ORU^R99'),
    'BTS|2',
  ];
  const { body } = await environment.post('hl7v2', batch.join('\r'));
  expect(body.match(/MSA\|A[A-Z]/g)).toEqual(['MSA|AA', 'MSA|AR']);
  await environment.recordings.drain();
  expect(await glucoseOf(patientId)).toEqual([['final', 90]]);
});

test('every message is kept once, although its sender never saw the answer: 40 times', async () => {
  const person = newPerson();
  environment.stopRecording();
  const numbers = Array.from({ length: 40 }, nextNumber);
  for (const [index, number] of numbers.entries()) {
    // The answer is lost after the commit; the sender begins again.
    const sent = glucose(person, index, { number });
    await environment.post('hl7v2', sent);
    expect((await environment.post('hl7v2', sent)).body).toContain('MSA|AA');
  }
  environment.startRecording();
  for (const number of numbers)
    expect(await stored(number)).toEqual([{ reused: false }]);
});

describe('a sender whose messages drift', () => {
  /** As if what has come until now had come three days ago. */
  const threeDaysPass = () =>
    environment.gateway.store.asSystem((tx) =>
      sql`update inbound_message set received_at = received_at - interval '3 days'`.execute(
        tx.db,
      ),
    );
  const driftFound = async () =>
    findingsOf({
      report: await readOperationsReport(environment.gateway.store),
    }).flatMap(({ what }) =>
      /no longer holds|new codes/.test(what) ? [what] : [],
    );
  const stays = async (messages: number, pv1: Record<number, string>) => {
    const person = newPerson();
    for (let index = 0; index < messages; index += 1)
      await environment.send(
        adtMessage(person, {
          event: 'A04',
          hour: '08',
          visit: nextNumber(),
          pv1,
        }),
      );
  };

  test('is a finding: a field that vanishes and codes that were never seen, not what some messages lack', async () => {
    await stays(20, { 2: 'I', 36: 'HOME', 44: '20261120080000' });
    await stays(10, { 2: 'I', 36: 'HOME' });
    await threeDaysPass();
    await stays(9, { 2: 'I' });
    // Too few of the last day to say anything.
    expect(await driftFound()).toEqual([]);
    await stays(3, { 2: 'ZZ' });
    expect(await driftFound()).toEqual([
      'The sender mercy no longer holds PV1-36 of encounter A04',
      'The sender mercy has new codes of its own in PV1-2 of encounter A04',
    ]);
    const { rows } = await environment.gateway.store.asSystem((tx) =>
      sql<{
        own: string;
      }>`select own_codes::text as own from inbound_message where trigger = 'A04' and own_codes::text like '%PV1-36%'`.execute(
        tx.db,
      ),
    );
    expect(rows[0]?.own).toMatch(/PV1-36 [0-9a-f]{12}/);
    expect(rows[0]?.own).not.toContain('HOME');
  });
});
