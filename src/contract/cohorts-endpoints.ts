import { z } from 'zod';
import {
  addedPatientsSchema,
  addPatientToCohortsBodySchema,
  COHORT_PATIENT_SORT,
  cohortPatientsBodySchema,
  cohortSchema,
  createCohortBodySchema,
  updateCohortBodySchema,
} from './cohorts.ts';
import { endpoint } from './endpoint.ts';
import { byId, eTagBody, ifMatch, pageMetaSchema } from './endpoint-parts.ts';
import { pageQuery } from './paging.ts';
import { patientSchema } from './patients.ts';

export const cohortEndpoints = {
  addPatientToCohorts: endpoint('POST /medical/v1/patient/:id/cohort', {
    params: byId,
    body: addPatientToCohortsBodySchema,
    responses: { 200: z.object({ cohorts: z.array(cohortSchema) }) },
    errors: [404],
  }),
  listCohorts: endpoint('GET /medical/v1/cohort', {
    responses: { 200: z.object({ cohorts: z.array(cohortSchema) }) },
  }),
  createCohort: endpoint('POST /medical/v1/cohort', {
    body: createCohortBodySchema,
    ignoresUnknownWhenPublished: true,
    responses: { 201: cohortSchema },
  }),
  getCohort: endpoint('GET /medical/v1/cohort/:id', {
    params: byId,
    responses: { 200: cohortSchema },
    errors: [404],
  }),
  updateCohort: endpoint('PATCH /medical/v1/cohort/:id', {
    params: byId,
    headers: ifMatch,
    body: updateCohortBodySchema,
    ignoresUnknownWhenPublished: true,
    responses: { 200: cohortSchema },
    errors: [404, 412],
  }),
  deleteCohort: endpoint('DELETE /medical/v1/cohort/:id', {
    params: byId,
    headers: ifMatch,
    body: eTagBody,
    responses: { 204: null },
    errors: [404, 412],
  }),
  listCohortPatients: endpoint('GET /medical/v1/cohort/:id/patient', {
    params: byId,
    query: pageQuery({}, { sort: COHORT_PATIENT_SORT, countMax: 100 }),
    responses: { 200: z.object({ patients: z.array(patientSchema), meta: pageMetaSchema }) },
    errors: [404],
  }),
  addPatientsToCohort: endpoint('POST /medical/v1/cohort/:id/patient', {
    params: byId,
    body: cohortPatientsBodySchema,
    responses: { 200: addedPatientsSchema },
    errors: [404],
  }),
  removePatientsFromCohort: endpoint('DELETE /medical/v1/cohort/:id/patient', {
    params: byId,
    body: cohortPatientsBodySchema,
    responses: { 200: z.object({ message: z.string(), cohort: cohortSchema }) },
    errors: [404],
  }),
  getPatientCohorts: endpoint('GET /medical/v1/patient/:id/cohort', {
    params: byId,
    responses: { 200: z.object({ cohorts: z.array(cohortSchema) }) },
    errors: [404],
  }),
} as const;
