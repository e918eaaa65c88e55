import type { Patient } from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agreesWithPerson } from '#person-matching';
import {
  AIMED_PAIRS,
  type AimedPerson,
} from '../../packages/person-matching/test/aimed-pairs.ts';
import { patientDemographicsSchema } from '../../src/contract/patients.ts';
import { handleIdentityCallback } from '../../src/exchange/people/identity/callback.ts';
import {
  findSession,
  insertSession,
} from '../../src/exchange/people/identity/identity-store.ts';
import { normaliseDemographics } from '../../src/exchange/people/patients/rules/patient-normalisation.ts';
import { convertDatedCcda } from '../../src/exchange/records/conversion/ccda-conversion.ts';
import { bringMessage } from '../support/bring-message.ts';
import { allOf, connect, FakeSource, never } from '../support/fake-source.ts';
import { newPerson, TEST_LINK_KEY } from '../support/gateway.ts';
import {
  createSenderEnvironment,
  hl7Segment,
  mshOf,
} from '../support/senders.ts';
import { takeUp } from '../support/take-up.ts';

/** A person with everything that a description may say; '' if it does not. */
type Described = AimedPerson;

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
    phone: '2102000142',
    ssn: '512345671',
    licence: 'S1234987',
  };
}

const GENDERS = { M: 'male', F: 'female' } as const;

const stated = <T>(list: readonly T[], value: string): readonly T[] =>
  value === '' ? [] : list;

/** As a caller describes the person to us. */
const createBody = (person: Described) => ({
  firstName: person.firstName,
  lastName: `${person.lastName} ${person.suffix}`.trim(),
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
  contact: stated([{ phone: person.phone }], person.phone),
  personalIdentifiers: [
    ...stated([{ type: 'ssn', value: person.ssn }], person.ssn),
    ...stated(
      [{ type: 'driversLicense', value: person.licence, state: 'TX' }],
      person.licence,
    ),
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
      suffix: [...stated([person.suffix], person.suffix)],
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
  telecom: [
    ...stated(
      [{ system: 'phone' as const, value: person.phone }],
      person.phone,
    ),
  ],
  identifier: [
    { system: 'urn:mercy', value: `record-of-${id}` },
    ...stated(
      [{ system: 'http://hl7.org/fhir/sid/us-ssn', value: person.ssn }],
      person.ssn,
    ),
    ...stated(
      [{ type: { coding: [{ code: 'DL' }] }, value: person.licence }],
      person.licence,
    ),
  ],
});

interface Door {
  name: string;
  /** What it is not told of a person, or what may be new. */
  leavesOut?: readonly (keyof Described)[];
  /** Names, birth date, gender and zip make one, by the interface. */
  isByInterface?: true;
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
      20: person.licence === '' ? '' : `${person.licence}^TX`,
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
    isByInterface: true,
    async joins(ours, theirs) {
      return (await created(ours)) === (await createdOrMatched(theirs));
    },
  },
  {
    name: '$match',
    isByInterface: true,
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
                    family: `${theirs.lastName} ${theirs.suffix}`.trim(),
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
    leavesOut: ['lastName', 'street', 'zip', 'phone'],
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
  {
    name: 'a verified identity',
    leavesOut: ['gender', 'street', 'zip', 'phone', 'ssn', 'licence'],
    async joins(ours, theirs) {
      const patientId = await created(ours);
      const { accountId } = environment.account;
      const { store } = environment.gateway;
      const id = crypto.randomUUID();
      const expiresAt = new Date(Date.now() + 60_000);
      await store.asAccount(accountId, (tx) =>
        insertSession(tx, {
          id,
          patientId,
          redirectUrl: 'https://example.org',
          expiresAt,
        }),
      );
      const callback = {
        type: 'session.verified',
        reference: id,
        subject: 'theirs',
        person: {
          firstName: theirs.firstName,
          lastName: `${theirs.lastName} ${theirs.suffix}`.trim(),
          dob: theirs.dob,
        },
      };
      await handleIdentityCallback(
        { store, linkSigningKey: TEST_LINK_KEY },
        Buffer.from(JSON.stringify(callback)),
      );
      const session = await store.asAccount(accountId, (tx) =>
        findSession(tx, id),
      );
      return session?.status === 'verified';
    },
  },
  {
    name: 'a message of XDR',
    leavesOut: ['street', 'phone', 'ssn', 'licence'],
    isByInterface: true,
    async joins(ours, theirs) {
      const patientId = await created(ours);
      const { store } = environment.gateway;
      const { accountId } = environment.account;
      const facility = await store.asAccount(accountId, (tx) =>
        tx.db.selectFrom('facility').select('oid').executeTakeFirstOrThrow(),
      );
      const { gateway } = environment;
      const taken = await bringMessage(gateway, accountId, {
        destination: facility.oid ?? '',
        network: 'CAREQUALITY',
        patients: [
          {
            resourceType: 'Patient',
            name: [
              {
                given: [theirs.firstName],
                family: `${theirs.lastName} ${theirs.suffix}`.trim(),
              },
            ],
            birthDate: theirs.dob,
            gender: GENDERS[theirs.gender],
            address: [{ postalCode: theirs.zip }],
          },
        ],
      });
      return taken.patientId === patientId;
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
  ${stated([`<id root="2.16.840.1.113883.4.1" extension="${person.ssn}"/>`], person.ssn).join('')}
  ${stated([`<id root="2.16.840.1.113883.4.3.48" extension="${person.licence}"/>`], person.licence).join('')}
  <addr><streetAddressLine>${person.street}</streetAddressLine>
  <city>San Antonio</city><state>TX</state>
  <postalCode>${person.zip}</postalCode></addr>
  ${stated([`<telecom value="tel:${person.phone}"/>`], person.phone).join('')}
  <patient><name><given>${person.firstName}</given>
  <family>${person.lastName}</family>${stated([`<suffix>${person.suffix}</suffix>`], person.suffix).join('')}</name>
  <administrativeGenderCode code="${person.gender}"/>
  <birthTime value="${person.dob.replaceAll('-', '')}"/></patient>
  </patientRole></recordTarget>
  <component><structuredBody/></component></ClinicalDocument>`);

const ANOTHER: Readonly<Record<string, Partial<Described>>> = {
  'another SSN, street and phone': {
    ssn: '623456782',
    street: '7 Oak Avenue',
    phone: '2102000187',
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

/** Whether a door is told anything in which the two differ. */
const isTold = (door: Door, ours: Described, theirs: Described): boolean =>
  (Object.keys(ours) as (keyof Described)[]).some(
    (what) => !door.leavesOut?.includes(what) && ours[what] !== theirs[what],
  );

test.each(
  DOORS.flatMap((door) =>
    Object.entries(ANOTHER).flatMap(([what, change]) => {
      const base = someone();
      return isTold(door, base, { ...base, ...change })
        ? [[door.name, what, door, change] as const]
        : [];
    }),
  ),
)('%s keeps two apart by %s', async (_, _what, door, change) => {
  const ours = { ...someone(), firstName: 'Jose Antonio' };
  const theirs = { ...ours, ...change };
  expect(await door.joins(ours, theirs)).toBe(false);
});

const PURE_DOORS: ReadonlySet<string> = new Set([
  'the answer of a source',
  'Patient.link',
  'a C-CDA document',
]);
const EACH = DOORS.length;

/** Each pair lives in a town of its own. */
const nextTown = (() => {
  let zip = 70_000;
  return () => String(++zip);
})();

/** Names, birth date, gender and zip are the same, and nothing contradicts. */
const isOneByInterface = (ours: Described, theirs: Described): boolean =>
  (['firstName', 'lastName', 'suffix', 'dob', 'gender', 'zip'] as const).every(
    (what) => ours[what] === theirs[what],
  ) &&
  (['ssn', 'licence'] as const).every(
    (what) => ours[what] === '' || ours[what] === theirs[what],
  );

test.each(DOORS.map((door) => [door.name, door] as const))(
  '%s joins none of the aimed pairs',
  async (_, door) => {
    const joined: string[] = [];
    for (const [number, { kind, ours, theirs }] of AIMED_PAIRS.entries()) {
      // Those that create patients share the limit of requests.
      if (!PURE_DOORS.has(door.name) && number % EACH !== DOORS.indexOf(door))
        continue;
      if (!isTold(door, ours, theirs)) continue;
      if (door.isByInterface && isOneByInterface(ours, theirs)) continue;
      const zip = nextTown();
      if (await door.joins({ ...ours, zip }, { ...theirs, zip }))
        joined.push(
          `${kind}: ${ours.firstName} ${ours.lastName}, ${theirs.firstName} ${theirs.lastName}`,
        );
    }
    expect(joined).toEqual([]);
  },
);

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
