import { z } from 'zod';
import { component, idSchema, recordSourceSchema } from './primitives.ts';

const DEFECT_HANDLINGS = ['stated-as-unknown', 'profile-not-claimed'] as const;

const count = z.number().int().nonnegative();

export const recordConformanceSchema = component('RecordConformance', {
  patientId: idSchema,
  resources: count.describe(
    'Resources in the record, not counting Provenance.',
  ),
  claiming: count.describe(
    'Resources that conform to at least one profile of US Core.',
  ),
  summary: z.string().describe('The report in one sentence.'),
  profiles: z
    .array(
      z.object({
        profile: z
          .string()
          .describe('Canonical URL with version, as in `meta.profile`.'),
        resources: count,
      }),
    )
    .describe('The profiles that resources of the record claim.'),
  defects: z
    .array(
      z.object({
        resourceType: z.string(),
        profile: z
          .string()
          .describe('Name of the profile that requires the element.'),
        element: z.string(),
        handling: z
          .enum(DEFECT_HANDLINGS)
          .describe(
            'Whether the record states the element as unknown, or the resource does not claim the profile.',
          ),
        resources: count,
        sources: z
          .array(recordSourceSchema)
          .describe('Where these resources came from.'),
        text: z.string().describe('The defect in plain words.'),
      }),
    )
    .describe(
      'What the sources left out or wrote in another form; most frequent first.',
    ),
  withoutProfile: z
    .array(z.object({ resourceType: z.string(), resources: count }))
    .describe('Resources for which US Core has no profile.'),
});
export type RecordConformance = z.output<typeof recordConformanceSchema>;
