import { z } from 'zod';
import { NOT_BLANK } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import { byId, eTagBody, ifMatch, pageMetaSchema } from './endpoint-parts.ts';
import { pageQuery } from './paging.ts';
import {
  createPatientBodySchema,
  matchPatientBodySchema,
  patientSchema,
  updatePatientBodySchema,
} from './patients.ts';
import { idSchema } from './primitives.ts';

/** Columns by which the list of patients can be sorted; without `sort`, newest first. */
export const PATIENT_SORT = ['createdAt', 'id'] as const;

const flag = (name: string) =>
  z
    .enum(['true', 'false'], { error: `${name} must be true or false` })
    .transform((value) => value === 'true');

/** Each word becomes a regular expression; PostgreSQL caches only a limited number of compiled ones. */
const WORDS_MAX = 10;
const searchWords = z
  .string()
  .max(200, { abort: true })
  .refine((text) => text.trim().split(/\s+/u).length <= WORDS_MAX, {
    error: `must have at most ${WORDS_MAX} words`,
  });

export const patientEndpoints = {
  createPatient: endpoint('POST /medical/v1/patient', {
    query: z.object({ facilityId: idSchema }),
    body: createPatientBodySchema,
    responses: { 201: patientSchema, 200: patientSchema },
    errors: [404],
  }),
  getPatient: endpoint('GET /medical/v1/patient/:id', {
    params: byId,
    responses: { 200: patientSchema },
    errors: [404],
  }),
  updatePatient: endpoint('PUT /medical/v1/patient/:id', {
    params: byId,
    query: z.object({ facilityId: idSchema.optional() }),
    headers: ifMatch,
    body: updatePatientBodySchema,
    responses: { 200: patientSchema },
    errors: [404, 409, 412],
  }),
  deletePatient: endpoint('DELETE /medical/v1/patient/:id', {
    params: byId,
    headers: ifMatch,
    body: eTagBody,
    responses: { 204: null },
    errors: [404, 409, 412],
  }),
  listPatients: endpoint('GET /medical/v1/patient', {
    query: pageQuery(
      {
        facilityId: idSchema.optional(),
        externalId: z.string().trim().min(1).max(200).meta(NOT_BLANK).optional(),
        filters: searchWords.optional().meta({
          description:
            'Words, all of which must occur in the name, date of birth, external id, identifiers, contacts or addresses; case-insensitive.',
          example: 'sample 02108',
        }),
      },
      { sort: PATIENT_SORT },
    ),
    responses: { 200: z.object({ patients: z.array(patientSchema), meta: pageMetaSchema }) },
  }),
  matchPatient: endpoint('POST /medical/v1/patient/match', {
    scope: 'read',
    body: matchPatientBodySchema,
    responses: { 200: patientSchema },
    errors: [404],
  }),
  getPatientByExternalId: endpoint('GET /medical/v1/patient/external-id', {
    query: z.object({
      externalId: z.string().trim().min(1, { error: 'externalId is required' }).max(200).meta(NOT_BLANK),
    }),
    responses: { 200: patientSchema },
    errors: [404],
  }),
  setHieOptOut: endpoint('PUT /medical/v1/patient/:id/hie-opt-out', {
    params: byId,
    query: z.object({ hieOptOut: flag('hieOptOut') }),
    headers: ifMatch,
    body: eTagBody,
    responses: { 200: z.object({ id: idSchema, hieOptOut: z.boolean(), message: z.string() }) },
    errors: [404, 412],
  }),
  setTreatmentRelationship: endpoint('PUT /medical/v1/patient/:id/treatment-relationship', {
    params: byId,
    query: z.object({ treatmentRelationship: flag('treatmentRelationship') }),
    headers: ifMatch,
    body: eTagBody,
    responses: { 200: z.object({ id: idSchema, treatmentRelationship: z.boolean(), message: z.string() }) },
    errors: [404, 412],
  }),
} as const;
