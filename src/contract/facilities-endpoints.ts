import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, eTagBody, ifMatch } from './endpoint-parts.ts';
import {
  createFacilityBodySchema,
  facilitySchema,
  patientFacilitiesBodySchema,
  updateFacilityBodySchema,
} from './facilities.ts';

const facilities = z.object({ facilities: z.array(facilitySchema) });

export const facilityEndpoints = {
  listFacilities: endpoint('GET /medical/v1/facility', { responses: { 200: facilities } }),
  createFacility: endpoint('POST /medical/v1/facility', {
    body: createFacilityBodySchema,
    responses: { 201: facilitySchema },
  }),
  getFacility: endpoint('GET /medical/v1/facility/:id', {
    params: byId,
    responses: { 200: facilitySchema },
    errors: [404],
  }),
  updateFacility: endpoint('PUT /medical/v1/facility/:id', {
    params: byId,
    headers: ifMatch,
    body: updateFacilityBodySchema,
    responses: { 200: facilitySchema },
    errors: [404, 412],
  }),
  deleteFacility: endpoint('DELETE /medical/v1/facility/:id', {
    params: byId,
    headers: ifMatch,
    body: eTagBody,
    responses: { 204: null },
    errors: [404, 412, 423],
  }),
  getPatientFacilities: endpoint('GET /medical/v1/patient/:id/facility', {
    params: byId,
    responses: { 200: facilities },
    errors: [404],
  }),
  setPatientFacilities: endpoint('POST /medical/v1/patient/:id/facility', {
    params: byId,
    headers: ifMatch,
    body: patientFacilitiesBodySchema,
    responses: { 200: facilities },
    errors: [404, 412],
  }),
} as const;
