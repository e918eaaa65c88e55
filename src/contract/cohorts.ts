import { z } from 'zod';
import {
  boundedList,
  ETAG_LENGTH_MAX,
  NOT_BLANK,
  requiredMembers,
} from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { eTagBody, ifMatch, pageMetaSchema, pageQuery } from './paging.ts';
import { patientSchema } from './patients.ts';
import { component, idSchema } from './primitives.ts';
import { membersWithoutTypos, strictMembers } from './strict-members.ts';

export const COHORT_COLORS = [
  'red',
  'green',
  'blue',
  'yellow',
  'purple',
  'orange',
  'pink',
  'brown',
  'gray',
  'black',
  'white',
] as const;
const frequencySchema = z.enum(['weekly', 'biweekly', 'monthly']);

type Members = <S extends z.core.$ZodShape>(shape: S) => z.ZodObject<S>;

/** settings.monitoring with its defaults (docs/interface.md, Cohort). */
const monitoringOf = (members: Members) =>
  members({
    hie: members({
      enabled: z.boolean().default(false),
      frequency: frequencySchema.default('monthly'),
    }).prefault({}),
    adt: members({ enabled: z.boolean().default(false) }).prefault({}),
    pharmacy: members({
      notifications: z.boolean().default(false),
      schedule: members({
        enabled: z.boolean().default(false),
        frequency: frequencySchema.default('monthly'),
      }).prefault({}),
    }).prefault({}),
    laboratory: members({ notifications: z.boolean().default(false) }).prefault(
      {},
    ),
  });
export const monitoringSchema = monitoringOf(z.object);
/**
 * settings.monitoring in an update: only the members to change, without
 * defaults.
 */
const monitoringChangeSchema = strictMembers({
  hie: strictMembers({
    enabled: z.boolean(),
    frequency: frequencySchema,
  }).partial(),
  adt: strictMembers({ enabled: z.boolean() }).partial(),
  pharmacy: strictMembers({
    notifications: z.boolean(),
    schedule: strictMembers({
      enabled: z.boolean(),
      frequency: frequencySchema,
    }).partial(),
  }).partial(),
  laboratory: strictMembers({ notifications: z.boolean() }).partial(),
}).partial();
export const cohortSettingsSchema = z
  .object({ monitoring: monitoringSchema.prefault({}) })
  .meta({ id: 'CohortSettings' });
/**
 * In requests, a misspelt member would leave the monitoring off without a word,
 * so it is refused.
 */
const newCohortSettingsSchema = strictMembers({
  monitoring: monitoringOf(strictMembers).prefault({}),
}).meta({
  id: 'NewCohortSettings',
});
export type CohortSettings = z.output<typeof cohortSettingsSchema>;

/** Cohort (response). */
export const cohortSchema = component('Cohort', {
  id: idSchema,
  eTag: z.string(),
  name: z.string(),
  description: z.string(),
  color: z.enum(COHORT_COLORS),
  purposeOfUse: z.enum(['treatment', 'operations']),
  settings: cohortSettingsSchema,
  size: z.number().int(),
});
export type CohortResponse = z.output<typeof cohortSchema>;

const nameSchema = z
  .string()
  .trim()
  .normalize()
  .min(1, { error: 'name is required' })
  .max(200)
  .meta(NOT_BLANK);
export const createCohortBodySchema = membersWithoutTypos({
  name: nameSchema,
  description: z.string().trim().max(2000).default(''),
  color: z
    .enum(COHORT_COLORS, {
      error: `color must be one of ${COHORT_COLORS.join(', ')}`,
    })
    .default('white'),
  purposeOfUse: z.enum(['treatment', 'operations']).default('treatment'),
  settings: newCohortSettingsSchema.prefault({}),
}).meta({ id: 'CreateCohort' });
export type CreateCohortBody = z.output<typeof createCohortBodySchema>;

/**
 * Body of "update cohort": absent members stay as they are, `settings` are
 * merged recursively. The `eTag` here, or the one in `If-Match`, must be
 * current.
 */
export const updateCohortBodySchema = membersWithoutTypos({
  name: nameSchema.optional(),
  description: z.string().trim().max(2000).optional(),
  color: z
    .enum(COHORT_COLORS, {
      error: `color must be one of ${COHORT_COLORS.join(', ')}`,
    })
    .optional(),
  purposeOfUse: z.enum(['treatment', 'operations']).optional(),
  settings: strictMembers({
    monitoring: monitoringChangeSchema.optional(),
  }).optional(),
  eTag: z.string().max(ETAG_LENGTH_MAX).optional(),
}).meta({ id: 'UpdateCohort' });
export type UpdateCohortBody = z.output<typeof updateCohortBodySchema>;

export const addPatientToCohortsBodySchema = component('AddPatientToCohorts', {
  cohortIds: boundedList(
    z
      .array(idSchema, {
        error: 'cohortIds is required and must be a list of cohort ids',
      })
      .min(1, { error: 'cohortIds must contain at least one id' }),
    1000,
  ),
});

/**
 * Maximum number of ids per request; for more, send several requests or use
 * `allPatients`.
 */
const PATIENT_IDS_MAX = 5000;

/** Body of E10 and "add patients to cohort": exactly one of the two members. */
export const cohortPatientsBodySchema = z
  .object({
    patientIds: boundedList(
      z
        .array(idSchema, { error: 'patientIds must be a list of patient ids' })
        .min(1, { error: 'patientIds must contain at least one id' }),
      PATIENT_IDS_MAX,
      `patientIds must contain at most ${PATIENT_IDS_MAX} ids`,
    ).optional(),
    allPatients: z
      .literal(true, {
        error: 'allPatients must be true; leave it out to name patients by id',
      })
      .optional(),
  })
  .refine(
    ({ patientIds, allPatients }) =>
      (patientIds === undefined) !== (allPatients === undefined),
    {
      error: 'exactly one of patientIds and allPatients is required',
    },
  )
  .meta({
    id: 'CohortPatients',
    oneOf: [requiredMembers('patientIds'), requiredMembers('allPatients')],
  });
export type CohortPatientsBody = z.output<typeof cohortPatientsBodySchema>;

/**
 * Response of "add patients to cohort"; `skipped` is present only with
 * `allPatients`.
 */
export const addedPatientsSchema = z.object({
  message: z.string(),
  cohort: cohortSchema,
  skipped: z
    .object({
      total: z.number().int(),
      patientIds: z.array(idSchema).describe('The first 100 ids.'),
    })
    .optional()
    .describe(
      'Patients without a treatment relationship; they cannot be added to a treatment cohort.',
    ),
});

/**
 * Columns by which the patients of a cohort can be sorted; the default is `id`.
 */
export const COHORT_PATIENT_SORT = ['id', 'createdAt'] as const;

export const cohortEndpoints = {
  addPatientToCohorts: endpoint(
    'POST /medical/v1/patient/:id/cohort',
    {
      tag: 'cohort',
      reference: 'E6',
      summary: 'Add patient to cohorts',
    },
    {
      body: addPatientToCohortsBodySchema,
      responses: { 200: z.object({ cohorts: z.array(cohortSchema) }) },
    },
  ),
  listCohorts: endpoint(
    'GET /medical/v1/cohort',
    {
      tag: 'cohort',
      reference: 'E7',
      summary: 'List cohorts',
    },
    z.object({ cohorts: z.array(cohortSchema) }),
  ),
  createCohort: endpoint(
    'POST /medical/v1/cohort',
    {
      tag: 'cohort',
      reference: 'Operations around E1–E14',
      summary: 'Create cohort',
    },
    {
      body: createCohortBodySchema,
      ignoresUnknownWhenPublished: true,
      responses: { 201: cohortSchema },
    },
  ),
  getCohort: endpoint(
    'GET /medical/v1/cohort/:id',
    {
      tag: 'cohort',
      reference: 'Operations around E1–E14',
      summary: 'Get cohort',
    },
    cohortSchema,
  ),
  updateCohort: endpoint(
    'PATCH /medical/v1/cohort/:id',
    {
      tag: 'cohort',
      reference: 'Operations around E1–E14',
      summary: 'Update cohort',
      description:
        'Changes only the members in the body; `settings` are merged recursively. PUT does the same. Changing `purposeOfUse` to `treatment` removes patients without a treatment relationship from the cohort.',
    },
    cohortSchema,
    {
      headers: ifMatch,
      body: updateCohortBodySchema,
      ignoresUnknownWhenPublished: true,
    },
  ),
  deleteCohort: endpoint(
    'DELETE /medical/v1/cohort/:id',
    {
      tag: 'cohort',
      reference: 'E8',
      summary: 'Delete cohort',
      description: '400 if the cohort still has patients; remove them first.',
    },
    null,
    {
      headers: ifMatch,
      body: eTagBody,
    },
  ),
  listCohortPatients: endpoint(
    'GET /medical/v1/cohort/:id/patient',
    {
      tag: 'cohort',
      reference: 'E9',
      summary: 'List patients in cohort',
    },
    {
      query: pageQuery(COHORT_PATIENT_SORT, {}, 100),
      responses: {
        200: z.object({
          patients: z.array(patientSchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  addPatientsToCohort: endpoint(
    'POST /medical/v1/cohort/:id/patient',
    {
      tag: 'cohort',
      reference: 'Operations around E1–E14',
      summary: 'Add patients to cohort',
      description:
        'Adds the patients in `patientIds`, all or none of them, or with `allPatients` every patient of the account. Patients already in the cohort are skipped.',
    },
    addedPatientsSchema,
    {
      body: cohortPatientsBodySchema,
    },
  ),
  removePatientsFromCohort: endpoint(
    'DELETE /medical/v1/cohort/:id/patient',
    {
      tag: 'cohort',
      reference: 'E10',
      summary: 'Remove patients from cohort',
      description:
        'Ids of patients who are not in the cohort are ignored; `message` states how many.',
    },
    {
      body: cohortPatientsBodySchema,
      responses: {
        200: z.object({ message: z.string(), cohort: cohortSchema }),
      },
    },
  ),
  getPatientCohorts: endpoint(
    'GET /medical/v1/patient/:id/cohort',
    {
      tag: 'cohort',
      reference: 'Operations around E1–E14',
      summary: 'List cohorts of a patient',
    },
    z.object({ cohorts: z.array(cohortSchema) }),
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const cohortExamples = {
  addPatientToCohorts: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    body: { cohortIds: ['01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d'] },
    answer: {
      cohorts: [
        {
          id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
          eTag: 'v1',
          name: 'Diabetes, high risk',
          description: 'HbA1c above 9 in the last year',
          color: 'blue',
          purposeOfUse: 'treatment',
          settings: {
            monitoring: {
              hie: { enabled: false, frequency: 'monthly' },
              adt: { enabled: true },
              pharmacy: {
                notifications: false,
                schedule: { enabled: false, frequency: 'monthly' },
              },
              laboratory: { notifications: false },
            },
          },
          size: 1,
        },
      ],
    },
  },

  listCohorts: {
    answer: {
      cohorts: [
        {
          id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
          eTag: 'v1',
          name: 'Diabetes, high risk',
          description: 'HbA1c above 9 in the last year',
          color: 'blue',
          purposeOfUse: 'treatment',
          settings: {
            monitoring: {
              hie: { enabled: false, frequency: 'monthly' },
              adt: { enabled: true },
              pharmacy: {
                notifications: false,
                schedule: { enabled: false, frequency: 'monthly' },
              },
              laboratory: { notifications: false },
            },
          },
          size: 1,
        },
      ],
    },
  },

  createCohort: {
    body: {
      name: 'Diabetes, high risk',
      description: 'HbA1c above 9 in the last year',
      color: 'blue',
      settings: { monitoring: { adt: { enabled: true } } },
    },
    answer: {
      id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
      eTag: 'v1',
      name: 'Diabetes, high risk',
      description: 'HbA1c above 9 in the last year',
      color: 'blue',
      purposeOfUse: 'treatment',
      settings: {
        monitoring: {
          hie: { enabled: false, frequency: 'monthly' },
          adt: { enabled: true },
          pharmacy: {
            notifications: false,
            schedule: { enabled: false, frequency: 'monthly' },
          },
          laboratory: { notifications: false },
        },
      },
      size: 0,
    },
  },

  getCohort: {
    params: { id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d' },
    answer: {
      id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
      eTag: 'v1',
      name: 'Diabetes, high risk',
      description: 'HbA1c above 9 in the last year',
      color: 'blue',
      purposeOfUse: 'treatment',
      settings: {
        monitoring: {
          hie: { enabled: false, frequency: 'monthly' },
          adt: { enabled: true },
          pharmacy: {
            notifications: false,
            schedule: { enabled: false, frequency: 'monthly' },
          },
          laboratory: { notifications: false },
        },
      },
      size: 1,
    },
  },

  updateCohort: {
    params: { id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d' },
    body: {
      color: 'red',
      settings: {
        monitoring: {
          hie: { enabled: true, frequency: 'weekly' },
          adt: { enabled: true },
        },
      },
    },
    answer: {
      id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
      eTag: 'v2',
      name: 'Diabetes, high risk',
      description: 'HbA1c above 9 in the last year',
      color: 'red',
      purposeOfUse: 'treatment',
      settings: {
        monitoring: {
          hie: { enabled: true, frequency: 'weekly' },
          adt: { enabled: true },
          pharmacy: {
            notifications: false,
            schedule: { enabled: false, frequency: 'monthly' },
          },
          laboratory: { notifications: false },
        },
      },
      size: 1,
    },
  },

  deleteCohort: { params: { id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d' } },

  listCohortPatients: {
    params: { id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d' },
    query: { count: 100 },
    answer: {
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
      ],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },

  addPatientsToCohort: {
    params: { id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d' },
    body: { patientIds: ['01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21'] },
    answer: {
      message: '1 patient added to the cohort',
      cohort: {
        id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
        eTag: 'v1',
        name: 'Diabetes, high risk',
        description: 'HbA1c above 9 in the last year',
        color: 'blue',
        purposeOfUse: 'treatment',
        settings: {
          monitoring: {
            hie: { enabled: false, frequency: 'monthly' },
            adt: { enabled: true },
            pharmacy: {
              notifications: false,
              schedule: { enabled: false, frequency: 'monthly' },
            },
            laboratory: { notifications: false },
          },
        },
        size: 1,
      },
    },
  },

  removePatientsFromCohort: {
    params: { id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d' },
    body: { allPatients: true },
    answer: {
      message: '1 patient removed from the cohort',
      cohort: {
        id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
        eTag: 'v1',
        name: 'Diabetes, high risk',
        description: 'HbA1c above 9 in the last year',
        color: 'blue',
        purposeOfUse: 'treatment',
        settings: {
          monitoring: {
            hie: { enabled: false, frequency: 'monthly' },
            adt: { enabled: true },
            pharmacy: {
              notifications: false,
              schedule: { enabled: false, frequency: 'monthly' },
            },
            laboratory: { notifications: false },
          },
        },
        size: 0,
      },
    },
  },

  getPatientCohorts: {
    params: { id: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21' },
    answer: {
      cohorts: [
        {
          id: '01923e9c-7a1d-7c3e-9a54-6d8a1f0b2c3d',
          eTag: 'v1',
          name: 'Diabetes, high risk',
          description: 'HbA1c above 9 in the last year',
          color: 'blue',
          purposeOfUse: 'treatment',
          settings: {
            monitoring: {
              hie: { enabled: false, frequency: 'monthly' },
              adt: { enabled: true },
              pharmacy: {
                notifications: false,
                schedule: { enabled: false, frequency: 'monthly' },
              },
              laboratory: { notifications: false },
            },
          },
          size: 1,
        },
      ],
    },
  },
} satisfies ExamplesOf<typeof cohortEndpoints>;
