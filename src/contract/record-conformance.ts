import { z } from 'zod';
import { component, idSchema, recordSourceSchema } from './primitives.ts';

const DEFECT_HANDLINGS = ['stated-as-unknown', 'profile-not-claimed'] as const;

const count = z.number().int().nonnegative();

export const recordConformanceSchema = component('RecordConformance', {
  patientId: idSchema,
  resources: count,
  claiming: count,
  summary: z.string(),
  profiles: z.array(
    z.object({
      profile: z.string().meta({ description: 'Canonical URL with version, as in `meta.profile`.' }),
      resources: count,
    }),
  ),
  defects: z.array(
    z.object({
      resourceType: z.string(),
      profile: z.string().meta({ description: 'Name of the profile that requires the element.' }),
      element: z.string(),
      handling: z.enum(DEFECT_HANDLINGS).meta({
        description:
          'Whether the record states the element as unknown, or the resource does not claim the profile.',
      }),
      resources: count,
      sources: z.array(recordSourceSchema).meta({ description: 'Where these resources came from.' }),
      text: z.string().meta({ description: 'The defect in plain words.' }),
    }),
  ),
  withoutProfile: z.array(z.object({ resourceType: z.string(), resources: count })),
});
export type RecordConformance = z.output<typeof recordConformanceSchema>;
