import type { patientEndpoints } from '../../../../src/contract/patients.ts';
import { placeLegalHold } from '../../../../src/exchange/people/patients/legal-hold-store.ts';
import {
  type Build,
  badBody,
  badPages,
  badQuery,
  NO_ID,
  type OperationCases,
  type Refused,
} from '../operation-cases.ts';
import { PERSON_RULES } from './person-rules.ts';

const ofPatient: Build = async ({ make }) => ({
  params: { id: await make.patient() },
});

export const patientCases: Record<
  keyof typeof patientEndpoints,
  OperationCases
> = {
  createPatient: {
    good: ({ account, make }) => ({
      query: { facilityId: account.facilityId },
      body: make.person(),
    }),
    more: [
      {
        what: 'a person who is known',
        status: 200,
        send: async ({ account, make }) => {
          const person = make.person();
          await make.call(
            'POST',
            `patient?facilityId=${account.facilityId}`,
            person,
          );
          return { query: { facilityId: account.facilityId }, body: person };
        },
      },
      {
        what: 'one object as address and contact, names as lists or with commas, and a query',
        status: 201,
        send: ({ account, make }) => {
          const person = make.person();
          return {
            query: { facilityId: account.facilityId },
            body: {
              ...person,
              firstName: ['Ann Marie', 'Lee'],
              lastName: `${person.lastName},Second`,
              address: {
                addressLine1: '1 Main',
                city: 'Boston',
                state: 'ma',
                zip: '02108-1234',
              },
              contact: { email: 'a.b+c_d-e@sub.example.org' },
              personalIdentifiers: [
                { type: 'driversLicense', value: 'S1', state: 'ny' },
              ],
              additionalIdentifiers: { quest: [' q-1', 'q-1'], elation: [] },
              networkQuery: { sources: ['lab'] },
            },
          };
        },
        has: {
          firstName: ['Ann', 'Marie', 'Lee'],
          address: [{ state: 'MA', zip: '02108-1234', country: 'USA' }],
          contact: [{ email: 'a.b+c_d-e@sub.example.org' }],
          personalIdentifiers: [
            { type: 'driversLicense', state: 'NY', value: 'S1' },
          ],
          additionalIdentifiers: { quest: ['q-1'] },
          networkQuery: {
            status: 'processing',
            sources: [{ type: 'lab', status: 'processing' }],
          },
        },
      },
      {
        what: 'an opted-out person with a query of hie',
        status: 201,
        send: ({ account, make }) => ({
          query: { facilityId: account.facilityId },
          body: make.person({
            status: { hieOptOut: true },
            networkQuery: { sources: { hie: { enabled: true } } },
          }),
        }),
        has: {
          networkQuery: {
            status: 'failed',
            sources: [],
            errors: [{ source: 'hie', httpStatus: 400 }],
          },
        },
      },
    ],
    refused: [
      ...PERSON_RULES,
      badQuery(
        { facilityId: undefined },
        'facilityId',
        'facilityId is required',
      ),
      badQuery({ facilityId: 'main' }, 'facilityId', 'expected a UUID'),
      {
        what: 'an unknown facility',
        status: 404,
        send: (_world, good) => ({ ...good, query: { facilityId: NO_ID } }),
        message: 'Facility not found',
      },
      badBody({ cohorts: [NO_ID] }, 'cohorts[0]', 'there is no cohort'),
      badBody({ cohorts: ['vip'] }, 'cohorts[0]', 'expected a UUID'),
      badBody({ networkQuery: {} }, 'networkQuery.sources', 'required'),
      badBody(
        { networkQuery: { sources: ['hie', 'xray'] } },
        'networkQuery.sources[1]',
        '',
      ),
      badBody(
        { networkQuery: { sources: { hie: {} } } },
        'networkQuery.sources.hie.enabled',
        'required',
      ),
      {
        what: 'a treatment cohort without a treatment relationship',
        status: 400,
        send: async ({ make }, good) => ({
          ...good,
          body: make.person({
            cohorts: [await make.cohort()],
            status: { treatmentRelationship: false },
          }),
        }),
        path: 'cohorts[0]',
        message: 'treatment',
      },
    ],
  },
  getPatient: { good: ofPatient },
  updatePatient: {
    good: async ({ make }) => ({
      params: { id: await make.patient() },
      body: make.person(),
    }),
    more: [
      {
        what: 'the eTag that is true, in the header and in the body',
        status: 200,
        send: async ({ make }) => ({
          params: { id: await make.patient() },
          headers: { 'if-match': '"v1"' },
          body: make.person({ eTag: 'v1' }),
        }),
        has: { eTag: 'v2' },
      },
    ],
    refused: [
      ...PERSON_RULES,
      {
        what: 'the demographics of another patient',
        status: 409,
        send: async ({ account, make }, good) => {
          const person = make.person();
          await make.call(
            'POST',
            `patient?facilityId=${account.facilityId}`,
            person,
          );
          return { ...good, body: person };
        },
        message: 'has these demographics',
      },
      {
        what: 'an unknown facility',
        status: 404,
        send: (_world, good) => ({ ...good, query: { facilityId: NO_ID } }),
        message: 'Facility not found',
      },
      badBody(
        { cohorts: [NO_ID] },
        'cohorts',
        'cannot be set here; use POST /medical/v1/patient/{id}/cohort',
      ),
      badQuery({ facilityId: 'main' }, 'facilityId', 'expected a UUID'),
    ],
  },
  deletePatient: {
    good: ofPatient,
    more: [
      {
        what: 'the eTag that is true, in the body',
        status: 204,
        send: async (world) => ({
          ...(await ofPatient(world)),
          body: { eTag: 'v1' },
        }),
      },
    ],
    refused: [
      {
        what: 'a patient under legal hold',
        status: 409,
        send: async ({ account, inSystem, make }) => {
          const patientId = await make.patient();
          const hold = {
            accountId: account.accountId,
            patientId,
            by: 'counsel',
            reason: 'matter 7',
          };
          await inSystem((tx) => placeLegalHold(tx, hold));
          return { params: { id: patientId } };
        },
        message: 'under legal hold',
      },
    ],
  },
  listPatients: {
    good: async ({ account, make }) => {
      await make.patient();
      return {
        query: {
          facilityId: account.facilityId,
          count: 1,
          sort: 'createdAt=asc,id=desc',
        },
      };
    },
    refused: [
      ...badPages(),
      badQuery({ facilityId: 'main' }, 'facilityId', 'expected a UUID'),
      badQuery({ externalId: '' }, 'externalId', ''),
    ],
  },
  matchPatient: {
    good: async ({ account, make }) => {
      const person = make.person();
      await make.call(
        'POST',
        `patient?facilityId=${account.facilityId}`,
        person,
      );
      return { body: person };
    },
    refused: [
      ...PERSON_RULES,
      {
        what: 'a person nobody knows',
        status: 404,
        send: ({ make }) => ({ body: make.person() }),
        message: 'Patient not found',
      },
    ],
  },
  getPatientByExternalId: {
    good: async ({ make }) => {
      await make.patient({ externalId: 'chart/1 é' });
      return { query: { externalId: 'chart/1 é' } };
    },
    refused: [
      badQuery({ externalId: undefined }, 'externalId', 'is required'),
      badQuery({ externalId: ' ' }, 'externalId', 'is required'),
      badQuery({ externalId: 'x'.repeat(201) }, 'externalId', ''),
      {
        what: 'an external id nobody has',
        status: 404,
        send: () => ({ query: { externalId: 'nobody' } }),
        message: 'Patient not found',
      },
      nulOf('externalId'),
    ],
  },
  setHieOptOut: flagCases('hieOptOut'),
  setTreatmentRelationship: flagCases('treatmentRelationship'),
};

function flagCases(flag: string): OperationCases {
  return {
    good: async ({ make }) => ({
      params: { id: await make.patient() },
      query: { [flag]: true },
    }),
    more: [
      {
        what: 'false, with the eTag that is true',
        status: 200,
        send: async ({ make }) => ({
          params: { id: await make.patient() },
          query: { [flag]: false },
          headers: { 'if-match': 'v1' },
          body: { eTag: 'v1' },
        }),
        has: { [flag]: false },
      },
    ],
    refused: [
      badQuery({ [flag]: undefined }, flag, `${flag} must be true or false`),
      badQuery({ [flag]: 'TRUE' }, flag, `${flag} must be true or false`),
    ],
  };
}

function nulOf(parameter: string): Refused {
  return {
    what: 'a NUL character',
    status: 400,
    send: () => ({ query: { [parameter]: 'a\u0000b' } }),
    message: 'a NUL character',
  };
}
