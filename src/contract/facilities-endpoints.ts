import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, eTagBody, idempotency, ifMatch } from './endpoint-parts.ts';
import {
  createFacilityBodySchema,
  facilitySchema,
  patientFacilitiesBodySchema,
  updateFacilityBodySchema,
} from './facilities.ts';

const reference = 'Operations around E1–E14';
const facilities = z.object({ facilities: z.array(facilitySchema) });

export const facilityEndpoints = {
  listFacilities: endpoint({
    method: 'GET',
    path: '/medical/v1/facility',
    reference: 'E11',
    tag: 'facility',
    summary: 'List facilities',
    responses: { 200: facilities },
  }),
  createFacility: endpoint({
    method: 'POST',
    path: '/medical/v1/facility',
    reference,
    tag: 'facility',
    summary: 'Create facility',
    description: 'The service assigns the OID. An NPI must be unique among the facilities of the account.',
    headers: idempotency,
    body: createFacilityBodySchema,
    responses: { 201: facilitySchema },
  }),
  getFacility: endpoint({
    method: 'GET',
    path: '/medical/v1/facility/:id',
    reference,
    tag: 'facility',
    summary: 'Get facility',
    params: byId,
    responses: { 200: facilitySchema },
    errors: [404],
  }),
  updateFacility: endpoint({
    method: 'PUT',
    path: '/medical/v1/facility/:id',
    reference,
    tag: 'facility',
    summary: 'Update facility',
    description: 'Replaces all writable members. The NPI cannot be changed.',
    params: byId,
    headers: ifMatch,
    body: updateFacilityBodySchema,
    responses: { 200: facilitySchema },
    errors: [404, 412],
  }),
  deleteFacility: endpoint({
    method: 'DELETE',
    path: '/medical/v1/facility/:id',
    reference,
    tag: 'facility',
    summary: 'Delete facility',
    description:
      'Fails with 400 if the facility has patients, and with 423 if a bulk create for it is in progress.',
    params: byId,
    headers: ifMatch,
    body: eTagBody,
    responses: { 204: null },
    errors: [404, 412, 423],
  }),
  getPatientFacilities: endpoint({
    method: 'GET',
    path: '/medical/v1/patient/:id/facility',
    reference,
    tag: 'facility',
    summary: 'List the facilities of a patient',
    params: byId,
    responses: { 200: facilities },
    errors: [404],
  }),
  setPatientFacilities: endpoint({
    method: 'POST',
    path: '/medical/v1/patient/:id/facility',
    reference,
    tag: 'facility',
    summary: 'Set the facilities of a patient',
    description: 'Replaces the list of facilities of the patient.',
    params: byId,
    headers: idempotency.extend(ifMatch.shape),
    body: patientFacilitiesBodySchema,
    responses: { 200: facilities },
    errors: [404, 412],
  }),
} as const;
