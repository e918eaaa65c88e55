import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { createPatientBodySchema, patientSchema, updatePatientBodySchema } from '../patient.ts';
import { idSchema } from '../primitives.ts';
import { byId, idempotency, ifMatch } from './common.ts';

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
    errors: [404, 409, 422],
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
} as const;
