import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { facilitySchema } from '../facility.ts';

export const facilityEndpoints = {
  listFacilities: endpoint({
    method: 'GET',
    path: '/medical/v1/facility',
    reference: 'E11',
    tag: 'facility',
    summary: 'List facilities',
    responses: { 200: z.object({ facilities: z.array(facilitySchema) }) },
  }),
} as const;
