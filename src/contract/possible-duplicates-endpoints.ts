import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, idempotency, pageMetaSchema } from './endpoint-parts.ts';
import { pageQuery } from './paging.ts';
import {
  comparedPatientsSchema,
  DUPLICATE_STATUSES,
  decidedDuplicateSchema,
  POSSIBLE_DUPLICATE_SORT,
  possibleDuplicateSchema,
} from './possible-duplicates.ts';
import { idSchema } from './primitives.ts';

const reference = 'Possible duplicates';

/** The review list of patients that may be one person. */
export const possibleDuplicateEndpoints = {
  listPossibleDuplicates: endpoint({
    method: 'GET',
    path: '/medical/v1/possible-duplicate',
    reference,
    tag: 'patient',
    summary: 'List possible duplicates',
    description:
      'Pairs of patients that may be one person but do not match by the rule of "Create patient". Found soon after a patient is created or changed.',
    query: pageQuery(
      { status: z.enum(DUPLICATE_STATUSES).optional(), patientId: idSchema.optional() },
      { sort: POSSIBLE_DUPLICATE_SORT },
    ),
    responses: {
      200: z.object({ possibleDuplicates: z.array(possibleDuplicateSchema), meta: pageMetaSchema }),
    },
  }),
  getPossibleDuplicate: endpoint({
    method: 'GET',
    path: '/medical/v1/possible-duplicate/:id',
    reference,
    tag: 'patient',
    summary: 'Get a possible duplicate with both patients',
    params: byId,
    responses: { 200: comparedPatientsSchema },
    errors: [404],
  }),
  acceptPossibleDuplicate: endpoint({
    method: 'POST',
    path: '/medical/v1/possible-duplicate/:id/accept',
    reference,
    tag: 'patient',
    summary: 'Mark two patients as one person',
    description:
      'Records the decision. Nothing is merged: both patients, their records and cohorts stay as they are. Can be changed by "refuse".',
    params: byId,
    headers: idempotency,
    responses: { 200: decidedDuplicateSchema },
    errors: [404],
  }),
  refusePossibleDuplicate: endpoint({
    method: 'POST',
    path: '/medical/v1/possible-duplicate/:id/refuse',
    reference,
    tag: 'patient',
    summary: 'Mark two patients as two people',
    description: 'Records the decision; the pair is not reported again. Can be changed by "accept".',
    params: byId,
    headers: idempotency,
    responses: { 200: decidedDuplicateSchema },
    errors: [404],
  }),
} as const;
