import { z } from 'zod';
import { endpoint } from './endpoint.ts';
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
