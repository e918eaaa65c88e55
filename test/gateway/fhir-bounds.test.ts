import type { Bundle, OperationOutcome } from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { INCLUDED_MAX } from '../../src/exchange/delivery/fhir-api/search-record.ts';
import { delivery, personOf, samples } from '../support/deliveries.ts';
import {
  createFhirDoor,
  diagnosticsIn,
  type FhirDoor,
  idsIn,
  inMode,
} from '../support/fhir-door.ts';

const [sample] = samples;
if (sample === undefined) throw new Error('the samples are gone');
const person = personOf(sample);

let door: FhirDoor;
beforeAll(async () => {
  door = await createFhirDoor();
});
afterAll(() => door.close());

const subject = { reference: 'Patient/p' };
const observation = (id: string, rest: object = {}) => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { coding: [{ system: 'http://loinc.org', code: '718-7' }], text: id },
  subject,
  valueString: id,
  ...rest,
});
const deliver = async (resources: readonly object[]) => {
  const patientId = await door.addPatient(person);
  await door.deliver(
    patientId,
    'hie',
    resources.map((resource) => delivery('hie', resource)),
    ['p'],
  );
  return patientId;
};
const outcomesOf = (bundle: Bundle) =>
  inMode(bundle, 'outcome')
    .map((outcome) => diagnosticsIn(outcome as OperationOutcome))
    .join('\n');

test('an answer includes a bounded number of resources, and says how many it left out', async () => {
  const ids = Array.from(
    { length: INCLUDED_MAX + 7 },
    (_, index) => `o${index}`,
  );
  const report = {
    resourceType: 'DiagnosticReport',
    id: 'r',
    status: 'final',
    code: { text: 'Many results' },
    subject,
    result: ids.map((id) => ({ reference: `Observation/${id}` })),
  };
  const patientId = await deliver([
    ...ids.map((id) => observation(id)),
    report,
  ]);
  const bundle = await door.bundle(
    `DiagnosticReport?patient=${patientId}&_include=DiagnosticReport:result`,
  );
  expect(inMode(bundle, 'include')).toHaveLength(INCLUDED_MAX);
  expect(outcomesOf(bundle)).toContain(
    '7 of the resources to be included are left out',
  );
  const [reportId] = idsIn([bundle]);
  const byId = await door.bundle(
    `DiagnosticReport?_id=${reportId}&_include=DiagnosticReport:result`,
  );
  expect(inMode(byId, 'include')).toHaveLength(INCLUDED_MAX);
  expect(outcomesOf(byId)).toContain('7 of the resources');
});

test('a search by ids for more than an answer may hold is refused with what to do; fewer ids are answered', async () => {
  const large = (id: string) =>
    observation(id, { note: [{ text: id.repeat(3_500_000) }] });
  const patientId = await deliver([large('aa'), large('bb'), large('cc')]);
  const ids = idsIn(
    await door.pages(`Observation?patient=${patientId}&_elements=code`),
  );
  expect(ids).toHaveLength(3);
  const refused = await door.get(`Observation?_id=${ids.join(',')}`);
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain('ask for fewer ids at a time');
  expect(
    idsIn([await door.bundle(`Observation?_id=${ids[0]},${ids[1]}`)]),
  ).toHaveLength(2);
});

test('large Patients make a short page that has a next one', async () => {
  const ids = [];
  for (const bytes of [11_000_000, 11_000_000, 1])
    ids.push(
      await deliver([
        {
          resourceType: 'Patient',
          id: 'p',
          birthDate: person.dob,
          address: [{ text: 'a'.repeat(bytes) }],
        },
      ]),
    );
  const pages = await door.pages(`Patient?_id=${ids.join(',')}`);
  expect(pages.map((page) => inMode(page, 'match').length)).toEqual([2, 1]);
  expect(idsIn(pages).sort()).toEqual([...ids].sort());
  expect(pages[0]?.total).toBeUndefined();
});

test('a search takes at most 100 different values of a parameter, and equal ones once', async () => {
  const patientId = await deliver([observation('a')]);
  const codes = (count: number) =>
    Array.from({ length: count }, (_, index) => `c${index}`);
  const asking = (values: string[]) =>
    door.get(`Observation?patient=${patientId}&code=${values.join(',')}`);
  expect((await asking([...codes(99), '718-7'])).json().total ?? 1).toBe(1);
  expect(
    (await asking(Array.from({ length: 500 }, () => '718-7'))).statusCode,
  ).toBe(200);
  const refused = await asking(codes(101));
  expect(refused.statusCode).toBe(400);
  expect(diagnosticsIn(refused.json())).toContain('at most 100 values');
  expect(
    (await door.get(`Patient?family=${codes(101).join(',')}`)).statusCode,
  ).toBe(400);
});
