import type { cohortEndpoints } from '../../../../src/contract/cohorts.ts';
import {
  badBody,
  badPages,
  NO_ID,
  type OperationCases,
  type Refused,
} from '../operation-cases.ts';
import type { World } from '../world.ts';

const withMember = async ({ make }: World) => {
  const cohort = await make.cohort();
  const patient = await make.patient();
  await make.call('POST', `patient/${patient}/cohort`, { cohortIds: [cohort] });
  return { cohort, patient };
};

const SETTINGS = [
  badBody({ color: 'teal' }, 'color', 'color must be one of red, green'),
  badBody({ purposeOfUse: 'research' }, 'purposeOfUse', ''),
  badBody(
    { settings: { monitoring: { hie: { frequency: 'daily' } } } },
    'settings.monitoring.hie.frequency',
    '',
  ),
  badBody(
    { settings: { monitoring: { adt: { enabled: 'on' } } } },
    'settings.monitoring.adt.enabled',
    'expected boolean',
  ),
  badBody({ name: ' ' }, 'name', 'name is required'),
  badBody({ name: 5 }, 'name', 'expected string, received number'),
];

const nameTaken: Refused = {
  what: 'a name that another cohort has',
  status: 400,
  send: async ({ make }, good) => {
    const name = `Taken ${Math.random()}`;
    await make.cohort({ name });
    return { ...good, body: { name } };
  },
  path: 'name',
  message: 'name',
};

const unknownIn = (body: object, what: string): Refused => ({
  what: JSON.stringify(body),
  status: 404,
  send: (_world, good) => ({ ...good, body }),
  message: `${what} ${NO_ID} not found`,
});

/** Who is meant: exactly one of two members. */
const WHO: Refused[] = [
  ...[{}, { patientIds: [NO_ID], allPatients: true }].map(
    (body): Refused => ({
      what: JSON.stringify(body),
      status: 400,
      send: (_world, good) => ({ ...good, body }),
      path: '',
      message: 'exactly one of patientIds and allPatients',
    }),
  ),
  badBody({ patientIds: [] }, 'patientIds', 'at least one'),
  badBody({ patientIds: ['x'] }, 'patientIds[0]', 'expected a UUID'),
  badBody(
    { patientIds: undefined, allPatients: false },
    'allPatients',
    'must be true',
  ),
];

export const cohortCases: Record<keyof typeof cohortEndpoints, OperationCases> =
  {
    addPatientToCohorts: {
      good: async ({ make }) => ({
        params: { id: await make.patient() },
        body: { cohortIds: [await make.cohort(), await make.cohort()] },
      }),
      more: [
        {
          what: 'a cohort that the patient is in already',
          status: 200,
          send: async (world) => {
            const { cohort, patient } = await withMember(world);
            return {
              params: { id: patient },
              body: { cohortIds: [cohort, cohort] },
            };
          },
          has: { cohorts: [{ size: 1 }] },
        },
      ],
      refused: [
        badBody({ cohortIds: undefined }, 'cohortIds', 'is required'),
        badBody({ cohortIds: [] }, 'cohortIds', 'at least one id'),
        badBody({ cohortIds: ['x'] }, 'cohortIds[0]', 'expected a UUID'),
        unknownIn({ cohortIds: [NO_ID] }, 'Cohort'),
        {
          what: 'a treatment cohort for a patient without a treatment relationship',
          status: 400,
          send: async ({ make }) => ({
            params: {
              id: await make.patient({
                status: { treatmentRelationship: false },
              }),
            },
            body: {
              cohortIds: [
                await make.cohort({ purposeOfUse: 'operations' }),
                await make.cohort(),
              ],
            },
          }),
          path: 'cohortIds[1]',
          message: 'treatment',
        },
      ],
    },
    listCohorts: {
      good: async ({ make }) => {
        await make.cohort();
        return {};
      },
    },
    createCohort: {
      good: () => ({ body: { name: `Created ${Math.random()}` } }),
      more: [
        {
          what: 'everything that it takes',
          status: 201,
          send: () => ({
            body: {
              name: ` Full ${Math.random()}`,
              description: 'd',
              color: 'gray',
              purposeOfUse: 'operations',
              settings: {
                monitoring: {
                  pharmacy: {
                    schedule: { enabled: true, frequency: 'biweekly' },
                  },
                },
              },
              size: 7,
            },
          }),
          has: {
            size: 0,
            color: 'gray',
            settings: {
              monitoring: {
                hie: { enabled: false, frequency: 'monthly' },
                pharmacy: {
                  notifications: false,
                  schedule: { enabled: true, frequency: 'biweekly' },
                },
              },
            },
          },
        },
      ],
      refused: [
        ...SETTINGS,
        badBody({ name: undefined }, 'name', 'name is required'),
        nameTaken,
      ],
    },
    getCohort: {
      good: async ({ make }) => ({ params: { id: await make.cohort() } }),
    },
    updateCohort: {
      good: async ({ make }) => ({
        params: { id: await make.cohort() },
        headers: { 'if-match': '"v1"' },
        body: { color: 'red', eTag: 'v1' },
      }),
      refused: [...SETTINGS, nameTaken],
    },
    deleteCohort: {
      good: async ({ make }) => ({ params: { id: await make.cohort() } }),
      more: [
        {
          what: 'the eTag that is true, in the body',
          status: 204,
          send: async ({ make }) => ({
            params: { id: await make.cohort() },
            body: { eTag: '"v1"' },
          }),
        },
      ],
      refused: [
        {
          what: 'a cohort with patients',
          status: 400,
          send: async (world) => ({
            params: { id: (await withMember(world)).cohort },
          }),
          message: '1 patient',
        },
      ],
    },
    listCohortPatients: {
      good: async (world) => ({
        params: { id: (await withMember(world)).cohort },
        query: { count: 100, sort: 'id=asc,createdAt=desc' },
      }),
      refused: badPages(100),
    },
    addPatientsToCohort: {
      good: async ({ make }) => ({
        params: { id: await make.cohort() },
        body: { patientIds: [await make.patient()] },
      }),
      more: [
        {
          what: 'all patients, of whom some are barred',
          status: 200,
          send: async ({ make }) => {
            await make.patient({ status: { treatmentRelationship: false } });
            return {
              params: { id: await make.cohort() },
              body: { allPatients: true },
            };
          },
          has: { skipped: {} },
        },
      ],
      refused: [
        ...WHO,
        unknownIn({ patientIds: [NO_ID] }, 'Patient'),
        {
          what: 'a patient without a treatment relationship among others',
          status: 400,
          send: async ({ make }, good) => ({
            ...good,
            body: {
              patientIds: [
                await make.patient(),
                await make.patient({
                  status: { treatmentRelationship: false },
                }),
              ],
            },
          }),
          path: 'patientIds[1]',
          message: 'treatment',
        },
      ],
    },
    removePatientsFromCohort: {
      good: async (world) => {
        const { cohort, patient } = await withMember(world);
        return {
          params: { id: cohort },
          body: { patientIds: [patient, NO_ID] },
        };
      },
      more: [
        {
          what: 'all patients',
          status: 200,
          send: async (world) => ({
            params: { id: (await withMember(world)).cohort },
            body: { allPatients: true },
          }),
          has: { cohort: { size: 0 } },
        },
      ],
      refused: WHO,
    },
    getPatientCohorts: {
      good: async (world) => ({
        params: { id: (await withMember(world)).patient },
      }),
    },
  };
