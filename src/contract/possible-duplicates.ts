import { z } from 'zod';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { pageMetaSchema, pageQuery } from './paging.ts';
import { patientSchema } from './patients.ts';
import { component, idSchema, instantSchema } from './primitives.ts';

/** Columns by which the list can be sorted; without `sort`, newest first. */
export const POSSIBLE_DUPLICATE_SORT = ['foundAt', 'id'] as const;

export const DUPLICATE_STATUSES = ['open', 'accepted', 'refused'] as const;

/** Two patients of the account that may be one person. */
export const possibleDuplicateSchema = component('PossibleDuplicate', {
  id: idSchema,
  status: z
    .enum(DUPLICATE_STATUSES)
    .describe(
      '`accepted`: marked as one person; the patients and their records stay separate. `refused`: they are two people.',
    ),
  patientIds: z.tuple([idSchema, idSchema]),
  grade: z
    .enum(['certain', 'probable', 'possible'])
    .describe('Code of FHIR’s match-grade.'),
  score: z.number().min(0).max(1),
  agrees: z
    .array(z.string())
    .describe(
      'What is the same: firstName, lastName, dob, genderAtBirth, zip, address, phone, email, ssn, driversLicense.',
    ),
  contradicts: z
    .array(z.string())
    .describe(
      'What speaks for two people: genderAtBirth, ssn, driversLicense (both have one, none in common), suffix (senior and junior).',
    ),
  foundAt: instantSchema,
  decidedAt: instantSchema.optional(),
});
export type PossibleDuplicateResponse = z.output<
  typeof possibleDuplicateSchema
>;

export const comparedPatientsSchema = possibleDuplicateSchema
  .extend({ patients: z.tuple([patientSchema, patientSchema]) })
  .meta({ id: 'PossibleDuplicateWithPatients' });

export const decidedDuplicateSchema = possibleDuplicateSchema
  .extend({ message: z.string() })
  .meta({ id: 'DecidedDuplicate' });

/** The review list of patients that may be one person. */
export const possibleDuplicateEndpoints = {
  listPossibleDuplicates: endpoint(
    'GET /medical/v1/possible-duplicate',
    {
      tag: 'patient',
      reference: 'Possible duplicates',
      summary: 'List possible duplicates',
      description:
        'Pairs of patients that may be one person but do not match by the rule of "Create patient". Found soon after a patient is created or changed.',
    },
    {
      query: pageQuery(POSSIBLE_DUPLICATE_SORT, {
        status: z.enum(DUPLICATE_STATUSES).optional(),
        patientId: idSchema.optional(),
      }),
      responses: {
        200: z.object({
          possibleDuplicates: z.array(possibleDuplicateSchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  getPossibleDuplicate: endpoint(
    'GET /medical/v1/possible-duplicate/:id',
    {
      tag: 'patient',
      reference: 'Possible duplicates',
      summary: 'Get a possible duplicate with both patients',
    },
    comparedPatientsSchema,
  ),
  acceptPossibleDuplicate: endpoint(
    'POST /medical/v1/possible-duplicate/:id/accept',
    {
      tag: 'patient',
      reference: 'Possible duplicates',
      summary: 'Mark two patients as one person',
      description:
        'Records the decision. Nothing is merged: both patients, their records and cohorts stay as they are. Can be changed by "refuse".',
    },
    decidedDuplicateSchema,
  ),
  refusePossibleDuplicate: endpoint(
    'POST /medical/v1/possible-duplicate/:id/refuse',
    {
      tag: 'patient',
      reference: 'Possible duplicates',
      summary: 'Mark two patients as two people',
      description:
        'Records the decision; the pair is not reported again. Can be changed by "accept".',
    },
    decidedDuplicateSchema,
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const possibleDuplicateExamples = {
  listPossibleDuplicates: {
    query: { status: 'open' },
    answer: {
      possibleDuplicates: [
        {
          id: '01923eac-8f90-7a12-b3c4-e5f60718293a',
          status: 'open',
          patientIds: [
            '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
            '01923e9d-7c15-7a2b-9d33-4a6b0c8e1f72',
          ],
          grade: 'possible',
          score: 0.5,
          agrees: ['firstName', 'dob', 'genderAtBirth', 'zip', 'phone'],
          contradicts: [],
          foundAt: '2026-11-21T15:04:05.000Z',
        },
      ],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },

  getPossibleDuplicate: {
    params: { id: '01923eac-8f90-7a12-b3c4-e5f60718293a' },
    answer: {
      id: '01923eac-8f90-7a12-b3c4-e5f60718293a',
      status: 'open',
      patientIds: [
        '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        '01923e9d-7c15-7a2b-9d33-4a6b0c8e1f72',
      ],
      grade: 'possible',
      score: 0.5,
      agrees: ['firstName', 'dob', 'genderAtBirth', 'zip', 'phone'],
      contradicts: [],
      foundAt: '2026-11-21T15:04:05.000Z',
      patients: [
        {
          id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
          eTag: 'v1',
          externalId: 'chart-20481',
          externalIds: ['chart-20481'],
          additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
          additionalIds: { athenahealth: ['a-195900.E-10447'] },
          firstName: ['Jane Marie'],
          lastName: ['Sample'],
          dob: '1984-03-09',
          genderAtBirth: 'F',
          personalIdentifiers: [
            { type: 'driversLicense', state: 'MA', value: 'S99000000' },
          ],
          address: [
            {
              addressLine1: '12 Beacon Street',
              city: 'Boston',
              state: 'MA',
              zip: '02108',
              country: 'USA',
            },
          ],
          contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
          facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'],
          status: { hieOptOut: false, treatmentRelationship: true },
          createdAt: '2026-11-21T15:04:05.000Z',
        },
        {
          id: '01923e9d-7c15-7a2b-9d33-4a6b0c8e1f72',
          eTag: 'v1',
          externalId: 'chart-20481',
          externalIds: ['chart-20481'],
          additionalIdentifiers: { athenahealth: ['a-195900.E-10447'] },
          additionalIds: { athenahealth: ['a-195900.E-10447'] },
          firstName: ['Jane Marie'],
          lastName: ['Samples'],
          dob: '1984-03-09',
          genderAtBirth: 'F',
          personalIdentifiers: [
            { type: 'driversLicense', state: 'MA', value: 'S99000000' },
          ],
          address: [
            {
              addressLine1: '12 Beacon Street',
              city: 'Boston',
              state: 'MA',
              zip: '02108',
              country: 'USA',
            },
          ],
          contact: [{ phone: '6175550123', email: 'jane.sample@example.org' }],
          facilityIds: ['01923e9b-5f02-7d1b-8c34-92a1e7b6d403'],
          status: { hieOptOut: false, treatmentRelationship: true },
          createdAt: '2026-11-21T15:04:05.000Z',
        },
      ],
    },
  },

  acceptPossibleDuplicate: {
    params: { id: '01923eac-8f90-7a12-b3c4-e5f60718293a' },
    answer: {
      id: '01923eac-8f90-7a12-b3c4-e5f60718293a',
      status: 'accepted',
      patientIds: [
        '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        '01923e9d-7c15-7a2b-9d33-4a6b0c8e1f72',
      ],
      grade: 'possible',
      score: 0.5,
      agrees: ['firstName', 'dob', 'genderAtBirth', 'zip', 'phone'],
      contradicts: [],
      foundAt: '2026-11-21T15:04:05.000Z',
      decidedAt: '2026-11-21T15:04:05.000Z',
      message:
        'The two patients are marked as one person. Nothing was merged: both patients and their records stay separate',
    },
  },

  refusePossibleDuplicate: {
    params: { id: '01923eac-8f90-7a12-b3c4-e5f60718293a' },
    answer: {
      id: '01923eac-8f90-7a12-b3c4-e5f60718293a',
      status: 'refused',
      patientIds: [
        '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
        '01923e9d-7c15-7a2b-9d33-4a6b0c8e1f72',
      ],
      grade: 'possible',
      score: 0.5,
      agrees: ['firstName', 'dob', 'genderAtBirth', 'zip', 'phone'],
      contradicts: [],
      foundAt: '2026-11-21T15:04:05.000Z',
      decidedAt: '2026-11-21T15:04:05.000Z',
      message:
        'The two patients are marked as two people. The pair is not reported again',
    },
  },
} satisfies ExamplesOf<typeof possibleDuplicateEndpoints>;
