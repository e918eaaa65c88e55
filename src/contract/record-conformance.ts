import { z } from 'zod';
import { idSchema, recordSourceSchema } from './primitives.ts';

const DEFECT_HANDLINGS = ['stated-as-unknown', 'profile-not-claimed'] as const;

const count = z.number().int().nonnegative();

export const recordConformanceSchema = z
  .object({
    patientId: idSchema,
    resources: count.meta({ description: 'Resources in the record, not counting Provenance.' }),
    claiming: count.meta({ description: 'Resources that conform to at least one profile of US Core.' }),
    summary: z.string().meta({ description: 'The report in one sentence.' }),
    profiles: z
      .array(
        z.object({
          profile: z.string().meta({ description: 'Canonical URL with version, as in `meta.profile`.' }),
          resources: count,
        }),
      )
      .meta({ description: 'The profiles that resources of the record claim.' }),
    defects: z
      .array(
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
      )
      .meta({ description: 'What the sources left out or wrote in another form; most frequent first.' }),
    withoutProfile: z
      .array(z.object({ resourceType: z.string(), resources: count }))
      .meta({ description: 'Resources for which US Core has no profile.' }),
  })
  .meta({ id: 'RecordConformance' });
export type RecordConformance = z.output<typeof recordConformanceSchema>;
