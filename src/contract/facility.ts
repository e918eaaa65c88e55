import { z } from 'zod';
import { storedAddressSchema } from './patient.ts';
import { idSchema } from './primitives.ts';

/** Facility (interface.md). */
export const facilitySchema = z
  .object({
    id: idSchema,
    eTag: z.string().optional(),
    oid: z.string(),
    name: z.string(),
    npi: z.string(),
    tin: z.string().nullable(),
    active: z.boolean(),
    address: storedAddressSchema,
  })
  .meta({ id: 'Facility' });
export type FacilityAnswer = z.output<typeof facilitySchema>;
