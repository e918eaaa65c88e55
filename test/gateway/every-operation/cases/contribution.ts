import type { contributionEndpoints } from '../../../../src/contract/contribution.ts';
import { badBody, NO_ID, type OperationCases } from '../operation-cases.ts';

const condition = (change: object = {}) => ({
  resourceType: 'Condition',
  id: 'c-1',
  code: { text: 'Hypertension' },
  ...change,
});
const bundleOf = (...resources: object[]) => ({
  resourceType: 'Bundle',
  type: 'collection',
  entry: resources.map((resource) => ({ resource })),
});
const refused = (
  what: string,
  resource: (patientId: string) => object,
  path: string,
  message: string,
) => ({
  what,
  status: 400,
  send: async ({ make }: Parameters<OperationCases['good']>[0]) => {
    const id = await make.patient();
    return { params: { id }, body: bundleOf(resource(id)) };
  },
  path,
  message,
});

export const contributionBody = () => bundleOf(condition());

export const contributionCases: Record<
  keyof typeof contributionEndpoints,
  OperationCases
> = {
  contributeData: {
    good: async ({ make }) => ({
      params: { id: await make.patient() },
      body: bundleOf(condition()),
    }),
    refused: [
      badBody(
        { type: 'transaction' },
        'type',
        'must be collection or searchset',
      ),
      badBody({ resourceType: 'Condition' }, 'resourceType', 'must be Bundle'),
      badBody({ entry: [] }, 'entry', 'must have at least one resource'),
      badBody(
        {
          entry: Array.from({ length: 1_001 }, () => ({
            resource: condition(),
          })),
        },
        'entry',
        'has more than 1000 resources',
      ),
      refused(
        'an unknown type',
        () => ({ resourceType: 'Binary' }),
        'entry[0].resource.resourceType',
        '"Binary" is not a type that records hold',
      ),
      refused(
        'an id that is none',
        () => condition({ id: 'a b' }),
        'entry[0].resource.id',
        'must have 1 to 64',
      ),
      refused(
        'a resource of another patient',
        () => condition({ subject: { reference: 'Patient/other' } }),
        'entry[0].resource',
        'names another patient',
      ),
      refused(
        'a resource that cannot say whom it is about',
        () => ({
          resourceType: 'Appointment',
          status: 'proposed',
          participant: [{ status: 'accepted', type: [{ text: 'Nurse' }] }],
        }),
        'entry[0].resource',
        'names no patient',
      ),
      refused(
        'an element of R5',
        () => condition({ participant: [{ actor: { display: 'A' } }] }),
        'entry[0].resource',
        'Condition.participant is missing or not as FHIR R4 defines it; another version of FHIR has it so',
      ),
      refused(
        'a required element that is missing',
        () => ({ resourceType: 'Observation', code: { text: 'Pulse' } }),
        'entry[0].resource',
        'Observation.status is missing',
      ),
      refused(
        'a resource that says nothing',
        () => ({ resourceType: 'Condition' }),
        'entry[0].resource',
        'says nothing: it needs code',
      ),
      refused(
        'a Patient with another birth date',
        (id) => ({ resourceType: 'Patient', id, birthDate: '1901-01-01' }),
        'entry[0].resource',
        'is a Patient with another birth date',
      ),
      {
        what: 'the same resource twice',
        status: 400,
        send: async ({ make }) => ({
          params: { id: await make.patient() },
          body: bundleOf(condition(), condition()),
        }),
        path: 'entry[1].resource',
        message: 'has the type and id of another one',
      },
    ],
  },
  contributeDocument: {
    good: async ({ make }) => ({
      query: { patientId: await make.patient() },
      body: {
        description: 'Letter',
        type: { text: 'Letter' },
        context: { period: { start: '2026-11-20' } },
      },
    }),
    refused: [
      badBody(
        { description: undefined },
        'description',
        'description is required',
      ),
      badBody({ type: undefined }, 'type', 'type is required'),
      badBody({ context: undefined }, 'context', 'context is required'),
      badBody({ type: 'Letter' }, 'type', 'type is required'),
      badBody(
        { context: { age: 3 } },
        '',
        'DocumentReference.context.age is missing or not as FHIR R4 defines it',
      ),
      {
        what: 'a patient who does not exist',
        status: 404,
        send: (_, good) => ({ ...good, query: { patientId: NO_ID } }),
        message: 'Patient not found',
      },
    ],
  },
  listContributions: {
    good: async ({ make }) => {
      const id = await make.patient();
      await make.call(
        'PUT',
        `patient/${id}/consolidated`,
        bundleOf(condition()),
      );
      return { params: { id } };
    },
  },
  removeContribution: {
    good: async ({ make }) => {
      const id = await make.patient();
      const { id: contributionId } = await make.call(
        'PUT',
        `patient/${id}/consolidated`,
        bundleOf(condition()),
      );
      return { params: { id, contributionId } };
    },
    refused: [
      {
        what: 'a contribution that the patient does not have',
        status: 404,
        send: (_, good) => ({
          params: { ...good.params, contributionId: NO_ID },
        }),
        message: 'Contribution not found',
      },
    ],
  },
};
