import { z } from 'zod';
import { NOT_BLANK } from './bounds.ts';
import { endpoint } from './endpoint.ts';
import { byId, eTagBody, idempotency, ifMatch, pageMetaSchema } from './endpoint-parts.ts';
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
  createPatient: endpoint({
    method: 'POST',
    path: '/medical/v1/patient',
    reference: 'E4',
    tag: 'patient',
    summary: 'Create patient',
    description:
      'Returns 201 for a new patient. Returns 200 if the demographics match an existing patient, which is then updated.',
    query: z.object({ facilityId: idSchema }),
    headers: idempotency,
    body: createPatientBodySchema,
    responses: { 201: patientSchema, 200: patientSchema },
    errors: [404],
  }),
  getPatient: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Get patient',
    params: byId,
    responses: { 200: patientSchema },
    errors: [404],
  }),
  updatePatient: endpoint({
    method: 'PUT',
    path: '/medical/v1/patient/:id',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Update patient',
    description: 'Replaces the demographics. The first address is the primary address.',
    params: byId,
    query: z.object({ facilityId: idSchema.optional() }),
    headers: ifMatch,
    body: updatePatientBodySchema,
    responses: { 200: patientSchema },
    errors: [404, 409, 412],
  }),
  deletePatient: endpoint({
    method: 'DELETE',
    path: '/medical/v1/patient/:id',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Delete patient',
    description:
      'Permanently deletes the patient and all collected data. Operations in progress for the patient are cancelled, and no further webhook about the patient is sent. Audit entries are kept. A patient under legal hold is not deleted (409).',
    params: byId,
    headers: ifMatch,
    body: eTagBody,
    responses: { 204: null },
    errors: [404, 409, 412],
  }),
  listPatients: endpoint({
    method: 'GET',
    path: '/medical/v1/patient',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'List patients',
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
  matchPatient: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/match',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    scope: 'read',
    summary: 'Match patient',
    description:
      'Finds the patient that "Create patient" would match: same names, date of birth, gender and one zip in common. Creates and changes nothing. 404 if there is no match.',
    headers: idempotency,
    body: matchPatientBodySchema,
    responses: { 200: patientSchema },
    errors: [404],
  }),
  getPatientByExternalId: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/external-id',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Get the newest patient with an external id',
    query: z.object({
      externalId: z.string().trim().min(1, { error: 'externalId is required' }).max(200).meta(NOT_BLANK),
    }),
    responses: { 200: patientSchema },
    errors: [404],
  }),
  setHieOptOut: endpoint({
    method: 'PUT',
    path: '/medical/v1/patient/:id/hie-opt-out',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Opt a patient out of the networks, or back in',
    params: byId,
    query: z.object({ hieOptOut: flag('hieOptOut') }),
    headers: ifMatch,
    body: eTagBody,
    responses: { 200: z.object({ id: idSchema, hieOptOut: z.boolean(), message: z.string() }) },
    errors: [404, 412],
  }),
  setTreatmentRelationship: endpoint({
    method: 'PUT',
    path: '/medical/v1/patient/:id/treatment-relationship',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Set whether there is a treatment relationship',
    description: '`false` removes the patient from every cohort whose `purposeOfUse` is `treatment`.',
    params: byId,
    query: z.object({ treatmentRelationship: flag('treatmentRelationship') }),
    headers: ifMatch,
    body: eTagBody,
    responses: { 200: z.object({ id: idSchema, treatmentRelationship: z.boolean(), message: z.string() }) },
    errors: [404, 412],
  }),
} as const;
