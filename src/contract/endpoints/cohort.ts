import { z } from 'zod';
import { addPatientToCohortsBodySchema, cohortSchema, createCohortBodySchema } from '../cohort.ts';
import { endpoint } from '../endpoint.ts';
import { byId, idempotency } from './common.ts';

export const cohortEndpoints = {
  addPatientToCohorts: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/:id/cohort',
    reference: 'E6',
    tag: 'cohort',
    summary: 'Add patient to cohorts',
    params: byId,
    headers: idempotency,
    body: addPatientToCohortsBodySchema,
    responses: { 200: z.object({ cohorts: z.array(cohortSchema) }) },
    errors: [404],
  }),
  listCohorts: endpoint({
    method: 'GET',
    path: '/medical/v1/cohort',
    reference: 'E7',
    tag: 'cohort',
    summary: 'List cohorts',
    responses: { 200: z.object({ cohorts: z.array(cohortSchema) }) },
  }),
  createCohort: endpoint({
    method: 'POST',
    path: '/medical/v1/cohort',
    reference: 'Operations around E1–E14',
    tag: 'cohort',
    summary: 'Create cohort',
    headers: idempotency,
    body: createCohortBodySchema,
    responses: { 201: cohortSchema },
    errors: [409, 422],
  }),
} as const;
