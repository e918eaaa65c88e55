import { z } from 'zod';
import {
  component,
  described,
  idSchema,
  recordSourceSchema,
} from './primitives.ts';

const DEFECT_HANDLINGS = ['stated-as-unknown', 'profile-not-claimed'] as const;

const count = z.number().int().nonnegative();

export const recordConformanceSchema = component('RecordConformance', {
  patientId: idSchema,
  resources: count,
  claiming: count,
  summary: z.string(),
  profiles: z.array(
    described('RecordConformance.profiles', {
      profile: z.string(),
      resources: count,
    }),
  ),
  defects: z.array(
    described('RecordConformance.defects', {
      resourceType: z.string(),
      profile: z.string(),
      element: z.string(),
      handling: z.enum(DEFECT_HANDLINGS),
      resources: count,
      sources: z.array(recordSourceSchema),
      text: z.string(),
    }),
  ),
  withoutProfile: z.array(
    z.object({ resourceType: z.string(), resources: count }),
  ),
});
export type RecordConformance = z.output<typeof recordConformanceSchema>;
