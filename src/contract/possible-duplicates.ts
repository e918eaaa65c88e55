import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { pageMetaSchema, pageQuery } from './paging.ts';
import { patientSchema } from './patients.ts';
import { idSchema, instantSchema } from './primitives.ts';

/** Columns by which the list can be sorted; without `sort`, newest first. */
export const POSSIBLE_DUPLICATE_SORT = ['foundAt', 'id'] as const;

export const DUPLICATE_STATUSES = ['open', 'accepted', 'refused'] as const;

/** Two patients of the account that may be one person. */
export const possibleDuplicateSchema = z
  .object({
    id: idSchema,
    status: z.enum(DUPLICATE_STATUSES).meta({
      description:
        '`accepted`: marked as one person; the patients and their records stay separate. `refused`: they are two people.',
    }),
    patientIds: z.tuple([idSchema, idSchema]),
    grade: z.enum(['certain', 'probable', 'possible']).meta({ description: 'Code of FHIR’s match-grade.' }),
    score: z.number().min(0).max(1),
    agrees: z.array(z.string()).meta({
      description:
        'What is the same: firstName, lastName, dob, genderAtBirth, zip, address, phone, email, ssn, driversLicense.',
    }),
    contradicts: z.array(z.string()).meta({
      description:
        'What speaks for two people: genderAtBirth, ssn, driversLicense (both have one, none in common), suffix (senior and junior).',
    }),
    foundAt: instantSchema,
    decidedAt: instantSchema.optional(),
  })
  .meta({ id: 'PossibleDuplicate' });
export type PossibleDuplicateResponse = z.output<typeof possibleDuplicateSchema>;

export const comparedPatientsSchema = possibleDuplicateSchema
  .extend({ patients: z.tuple([patientSchema, patientSchema]) })
  .meta({ id: 'PossibleDuplicateWithPatients' });

export const decidedDuplicateSchema = possibleDuplicateSchema
  .extend({ message: z.string() })
  .meta({ id: 'DecidedDuplicate' });

/** The review list of patients that may be one person. */
export const possibleDuplicateEndpoints = {
  listPossibleDuplicates: endpoint('GET /medical/v1/possible-duplicate', {
    query: pageQuery(
      { status: z.enum(DUPLICATE_STATUSES).optional(), patientId: idSchema.optional() },
      { sort: POSSIBLE_DUPLICATE_SORT },
    ),
    responses: {
      200: z.object({ possibleDuplicates: z.array(possibleDuplicateSchema), meta: pageMetaSchema }),
    },
  }),
  getPossibleDuplicate: endpoint('GET /medical/v1/possible-duplicate/:id', {
    responses: { 200: comparedPatientsSchema },
  }),
  acceptPossibleDuplicate: endpoint('POST /medical/v1/possible-duplicate/:id/accept', {
    responses: { 200: decidedDuplicateSchema },
  }),
  refusePossibleDuplicate: endpoint('POST /medical/v1/possible-duplicate/:id/refuse', {
    responses: { 200: decidedDuplicateSchema },
  }),
} as const;
