import type { Patient } from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agreesWithPerson } from '#person-matching';
import { patientDemographicsSchema } from '../../src/contract/patients.ts';
import { normaliseDemographics } from '../../src/exchange/people/patients/rules/patient-normalisation.ts';
import { convertDatedCcda } from '../../src/exchange/records/conversion/ccda-conversion.ts';
import { allOf, connect, FakeSource, never } from '../support/fake-source.ts';
import { newPerson } from '../support/gateway.ts';
import {
  createSenderEnvironment,
  hl7Segment,
  mshOf,
} from '../support/senders.ts';
import { takeUp } from '../support/take-up.ts';

/** A person with everything that a description may say. */
interface Described {
  firstName: string;
  lastName: string;
  suffix: string;
  dob: string;
  gender: 'M' | 'F';
  street: string;
  zip: string;
  phone: string;
  ssn: string;
  licence: string;
}

let environment: Awaited<ReturnType<typeof createSenderEnvironment>>;
beforeAll(async () => {
  environment = await createSenderEnvironment();
});
afterAll(() => environment.gateway.close());

function someone(): Described {
  return {
    firstName: 'Jose',
    lastName: newPerson().lastName,
    suffix: 'Sr',
    dob: '1971-08-16',
    gender: 'M',
    street: '12 Elm Street',
    zip: '78205',
    phone: '2105550142',
    ssn: '512345671',
    licence: 'S1234987',
  };
}

const GENDERS = { M: 'male', F: 'female' } as const;

/** As a caller describes the person to us. */
const createBody = (person: Described) => ({
  firstName: person.firstName,
  lastName: `${person.lastName} ${person.suffix}`,
  dob: person.dob,
  genderAtBirth: person.gender,
  address: [
    {
      addressLine1: person.street,
      city: 'San Antonio',
      state: 'TX',
      zip: person.zip,
      country: 'USA',
    },
  ],
  contact: [{ phone: person.phone }],
  personalIdentifiers: [
    { type: 'ssn', value: person.ssn },
    { type: 'driversLicense', value: person.licence, state: 'TX' },
  ],
});

/** As another system describes the person. */
const fhirPatient = (person: Described, id: string): Patient => ({
  resourceType: 'Patient',
  id,
  name: [
    {
      family: person.lastName,
      given: [person.firstName],
      suffix: [person.suffix],
    },
  ],
  birthDate: person.dob,
  gender: GENDERS[person.gender],
  address: [
    {
      line: [person.street],
      city: 'San Antonio',
      state: 'TX',
      postalCode: person.zip,
    },
  ],
  telecom: [{ system: 'phone', value: person.phone }],
  identifier: [
    { system: 'urn:mercy', value: `record-of-${id}` },
    { system: 'http://hl7.org/fhir/sid/us-ssn', value: person.ssn },
    { type: { coding: [{ code: 'DL' }] }, value: person.licence },
  ],
});

interface Door {
  name: string;
  /** Whether what comes about `theirs` is taken for the patient `ours`. */
  joins(ours: Described, theirs: Described): Promise<boolean>;
}

const created = (person: Described): Promise<string> =>
  environment.addPatient(createBody(person) as never);

const observationsOf = (patientId: string) =>
  environment.resources('Observation', patientId);

const demographicsOf = (person: Described) =>
  normaliseDemographics(patientDemographicsSchema.parse(createBody(person)));

const nextId = (() => {
  let count = 0;
  return () => `d${++count}`;
})();

/** A result of a laboratory that says everything of its person. */
function potassiumOf(person: Described): string {
  const number = nextId();
  return [
    mshOf('ORU^R01', '0900'),
    hl7Segment('PID', {
      3: `${number}^^^MERCY^MR`,
      5: `${person.lastName}^${person.firstName}^^${person.suffix}`,
      7: person.dob.replaceAll('-', ''),
      8: person.gender,
      11: `${person.street}^^San Antonio^TX^${person.zip}`,
      13: person.phone,
      19: person.ssn,
      20: `${person.licence}^TX`,
    }),
    `OBR|1||${number}^LAB|2823-3^Potassium^LN|||20261120080000+0000||||||||||||||||||F`,
    'OBX|1|NM|2823-3^Potassium^LN||6.1|mmol/L|||||F',
  ].join('\r');
}

/** Whether a source's answer is collected. */
async function isCollected(
  ours: Described,
  routes: ConstructorParameters<typeof FakeSource>[0],
): Promise<boolean> {
  const source = await new FakeSource(routes).start();
  const person = demographicsOf(ours);
  const begun = await connect(source)
    .begin(person, {}, never)
    .catch(() => undefined);
  if (begun?.kind === 'ready') await allOf(begun.pages);
  return source.askedFor('GET Patient/theirs/$everything').length > 0;
}

const searchset = (resource: unknown) => ({
  resourceType: 'Bundle',
  type: 'searchset',
  entry: [{ resource }],
});

const DOORS: readonly Door[] = [
  {
    name: 'Create patient',
    async joins(ours, theirs) {
      return (await created(ours)) === (await createdOrMatched(theirs));
    },
  },
  {
    name: '$match',
    async joins(ours, theirs) {
      await created(ours);
      const answer = await environment.account.call(
        'POST',
        '/fhir/R4/Patient/$match',
        {
          resourceType: 'Parameters',
          parameter: [
            {
              name: 'resource',
              resource: {
                ...fhirPatient(theirs, 'theirs'),
                name: [
                  {
                    family: `${theirs.lastName} ${theirs.suffix}`,
                    given: [theirs.firstName],
                  },
                ],
              },
            },
          ],
        },
      );
      expect(answer.statusCode, answer.body).toBe(200);
      return (answer.json().entry ?? []).length > 0;
    },
  },
  {
    name: 'a message of HL7 v2',
    async joins(ours, theirs) {
      const patientId = await created(ours);
      await environment.send(potassiumOf(theirs));
      return (await observationsOf(patientId)).length > 0;
    },
  },
  {
    name: 'a message of FHIR',
    async joins(ours, theirs) {
      const patientId = await created(ours);
      const id = nextId();
      await environment.sendFhir(fhirPatient(theirs, id), {
        resourceType: 'Observation',
        id: `potassium-${id}`,
        status: 'final',
        subject: { reference: `Patient/${id}` },
        code: { coding: [{ system: 'http://loinc.org', code: '2823-3' }] },
        valueQuantity: { value: 6.1, unit: 'mmol/L' },
      });
      return (await observationsOf(patientId)).length > 0;
    },
  },
  {
    name: 'the answer of a source',
    joins: (ours, theirs) =>
      isCollected(ours, {
        'POST Patient/$match': {
          json: searchset(fhirPatient(theirs, 'theirs')),
        },
        'GET Patient/theirs/$everything': {
          json: searchset(fhirPatient(theirs, 'theirs')),
        },
      }),
  },
  {
    name: 'Patient.link',
    joins: (ours, theirs) =>
      isCollected(ours, {
        'POST Patient/$match': {
          json: searchset({
            ...fhirPatient(ours, 'ours'),
            link: [{ other: { reference: 'Patient/theirs' }, type: 'seealso' }],
          }),
        },
        'GET Patient/theirs': { json: fhirPatient(theirs, 'theirs') },
        'GET Patient/ours/$everything': {
          json: searchset(fhirPatient(ours, 'ours')),
        },
        'GET Patient/theirs/$everything': {
          json: searchset(fhirPatient(theirs, 'theirs')),
        },
      }),
  },
  {
    name: 'a C-CDA document',
    async joins(ours, theirs) {
      const conversion = convertDatedCcda(headerOf(theirs), {
        unit: 'u',
        patientId: 'p',
      });
      if (conversion.kind !== 'converted') throw new Error(conversion.kind);
      return agreesWithPerson(
        demographicsOf(ours),
        conversion.patient as unknown as Patient,
      );
    },
  },
  {
    name: 'a contributed Patient',
    async joins(ours, theirs) {
      const patientId = await created(ours);
      const answer = await environment.account.call(
        'PUT',
        `patient/${patientId}/consolidated`,
        {
          resourceType: 'Bundle',
          type: 'collection',
          entry: [{ resource: fhirPatient(theirs, patientId) }],
        },
      );
      return answer.statusCode === 200;
    },
  },
];

const createdOrMatched = async (person: Described): Promise<string> => {
  const { account } = environment;
  const answer = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    createBody(person),
  );
  expect([200, 201]).toContain(answer.statusCode);
  return answer.json().id;
};

const headerOf = (person: Described): Buffer =>
  Buffer.from(`<?xml version="1.0"?><ClinicalDocument xmlns="urn:hl7-org:v3">
  <id root="1.2.3"/><effectiveTime value="20240501"/>
  <recordTarget><patientRole>
  <id root="1.2.3" extension="7"/>
  <id root="2.16.840.1.113883.4.1" extension="${person.ssn}"/>
  <id root="2.16.840.1.113883.4.3.48" extension="${person.licence}"/>
  <addr><streetAddressLine>${person.street}</streetAddressLine>
  <city>San Antonio</city><state>TX</state>
  <postalCode>${person.zip}</postalCode></addr>
  <telecom value="tel:${person.phone}"/>
  <patient><name><given>${person.firstName}</given>
  <family>${person.lastName}</family><suffix>${person.suffix}</suffix></name>
  <administrativeGenderCode code="${person.gender}"/>
  <birthTime value="${person.dob.replaceAll('-', '')}"/></patient>
  </patientRole></recordTarget>
  <component><structuredBody/></component></ClinicalDocument>`);

const ANOTHER: Readonly<Record<string, Partial<Described>>> = {
  'another SSN, street and phone': {
    ssn: '623456782',
    street: '7 Oak Avenue',
    phone: '2105550187',
  },
  'another driver’s licence of the state': { licence: 'T7154328' },
  'another generation': { suffix: 'Jr' },
  'another sex': { gender: 'F' },
  'another further given name': { firstName: 'Jose Luis' },
};

test.each(DOORS.map((door) => [door.name, door] as const))(
  '%s takes a person who is described the same for the patient',
  async (_, door) => {
    const ours = someone();
    expect(await door.joins(ours, ours)).toBe(true);
  },
);

test.each(
  DOORS.flatMap((door) =>
    Object.entries(ANOTHER).map(
      ([what, change]) => [door.name, what, door, change] as const,
    ),
  ),
)('%s keeps two apart by %s', async (_, _what, door, change) => {
  const ours = { ...someone(), firstName: 'Jose Antonio' };
  const theirs = { ...ours, ...change };
  expect(await door.joins(ours, theirs)).toBe(false);
});

test('what a message reported leaves the record of a patient when the person whom it names appears', async () => {
  const ours = someone();
  const { ssn: _, ...unknown } = someone();
  const patientId = await environment.addPatient({
    ...createBody(ours),
    genderAtBirth: 'U',
    personalIdentifiers: [],
  } as never);
  const theirs = {
    ...unknown,
    lastName: ours.lastName,
    ssn: '623456782',
    street: '7 Oak Avenue',
  };
  await environment.send(potassiumOf(theirs));
  expect(await observationsOf(patientId)).toHaveLength(1);

  const theirId = await created(theirs);
  await takeUp(environment.rematching);
  await environment.recordings.drain();
  expect(await observationsOf(patientId)).toEqual([]);
  expect(await observationsOf(theirId)).toHaveLength(1);
});
