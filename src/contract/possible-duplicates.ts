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
  status: z.enum(DUPLICATE_STATUSES),
  patientIds: z.tuple([idSchema, idSchema]),
  grade: z.enum(['certain', 'probable', 'possible']),
  score: z.number().min(0).max(1),
  agrees: z.array(z.string()),
  contradicts: z.array(z.string()),
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
  listPossibleDuplicates: endpoint('GET /medical/v1/possible-duplicate', {
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
  }),
  getPossibleDuplicate: endpoint(
    'GET /medical/v1/possible-duplicate/:id',
    comparedPatientsSchema,
  ),
  acceptPossibleDuplicate: endpoint(
    'POST /medical/v1/possible-duplicate/:id/accept',
    decidedDuplicateSchema,
  ),
  refusePossibleDuplicate: endpoint(
    'POST /medical/v1/possible-duplicate/:id/refuse',
    decidedDuplicateSchema,
  ),
} as const;
