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

/** Columns that the list of patients can be sorted by; newest first when none is given. */
export const PATIENT_SORT = ['createdAt', 'id'] as const;

const flag = (name: string) =>
  z.enum(['true', 'false'], { error: `${name} is true or false` }).transform((value) => value === 'true');

/** More would be more regular expressions than PostgreSQL keeps ready. */
const WORDS_MAX = 10;
const searchWords = z
  .string()
  .max(200, { abort: true })
  .refine((text) => text.trim().split(/\s+/u).length <= WORDS_MAX, {
    error: `has at most ${WORDS_MAX} words`,
  });

export const patientEndpoints = {
  createPatient: endpoint({
    method: 'POST',
    path: '/medical/v1/patient',
    reference: 'E4',
    tag: 'patient',
    summary: 'Create patient',
    description:
      'Answers 201 for a new patient and 200 when the demographics match a known one, which is then updated.',
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
    description: 'Replaces the demographics. Re-ordering the addresses changes the primary address.',
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
      'For good, with all that was collected; what runs for the patient is cancelled, and no webhook about the patient is sent any more. The audit stays.',
    params: byId,
    headers: ifMatch,
    body: eTagBody,
    responses: { 204: null },
    errors: [404, 412],
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
            'Words that must all occur, in any case, in names, date of birth, external id, identifiers, contact or address.',
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
    summary: 'Find the patient whom demographics match',
    description:
      'By the rule of create patient: same names, date of birth, gender and a zip. Creates and changes nothing.',
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
      externalId: z
        .string({ error: 'externalId is required' })
        .trim()
        .min(1, { error: 'externalId is required' })
        .max(200)
        .meta(NOT_BLANK),
    }),
    responses: { 200: patientSchema },
    errors: [404],
  }),
  setHieOptOut: endpoint({
    method: 'PUT',
    path: '/medical/v1/patient/:id/hie-opt-out',
    reference: 'Operations around E1–E14',
    tag: 'patient',
    summary: 'Opt a patient out of the networks, or in again',
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
    summary: 'Say whether there is a treatment relationship',
    description: '`false` takes the patient out of every cohort whose purpose is treatment.',
    params: byId,
    query: z.object({ treatmentRelationship: flag('treatmentRelationship') }),
    headers: ifMatch,
    body: eTagBody,
    responses: { 200: z.object({ id: idSchema, treatmentRelationship: z.boolean(), message: z.string() }) },
    errors: [404, 412],
  }),
} as const;
