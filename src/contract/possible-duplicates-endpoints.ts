import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, pageMetaSchema } from './endpoint-parts.ts';
import { pageQuery } from './paging.ts';
import {
  comparedPatientsSchema,
  DUPLICATE_STATUSES,
  decidedDuplicateSchema,
  POSSIBLE_DUPLICATE_SORT,
  possibleDuplicateSchema,
} from './possible-duplicates.ts';
import { idSchema } from './primitives.ts';

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
    params: byId,
    responses: { 200: comparedPatientsSchema },
    errors: [404],
  }),
  acceptPossibleDuplicate: endpoint('POST /medical/v1/possible-duplicate/:id/accept', {
    params: byId,
    responses: { 200: decidedDuplicateSchema },
    errors: [404],
  }),
  refusePossibleDuplicate: endpoint('POST /medical/v1/possible-duplicate/:id/refuse', {
    params: byId,
    responses: { 200: decidedDuplicateSchema },
    errors: [404],
  }),
} as const;
