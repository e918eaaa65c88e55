import { z } from 'zod';
import { idSchema } from './primitives.ts';

export const COHORT_COLORS = [
  'red',
  'green',
  'blue',
  'yellow',
  'purple',
  'orange',
  'pink',
  'brown',
  'gray',
  'black',
  'white',
] as const;
const frequencySchema = z.enum(['weekly', 'biweekly', 'monthly']);

/** settings.monitoring with its defaults (interface.md, Cohort). */
export const monitoringSchema = z.object({
  hie: z
    .object({ enabled: z.boolean().default(false), frequency: frequencySchema.default('monthly') })
    .prefault({}),
  adt: z.object({ enabled: z.boolean().default(false) }).prefault({}),
  pharmacy: z
    .object({
      notifications: z.boolean().default(false),
      schedule: z
        .object({ enabled: z.boolean().default(false), frequency: frequencySchema.default('monthly') })
        .prefault({}),
    })
    .prefault({}),
  laboratory: z.object({ notifications: z.boolean().default(false) }).prefault({}),
});
export const cohortSettingsSchema = z
  .object({ monitoring: monitoringSchema.prefault({}) })
  .meta({ id: 'CohortSettings' });
export type CohortSettings = z.output<typeof cohortSettingsSchema>;

/** Cohort (response). */
export const cohortSchema = z
  .object({
    id: idSchema,
    eTag: z.string(),
    name: z.string(),
    description: z.string(),
    color: z.enum(COHORT_COLORS),
    purposeOfUse: z.enum(['treatment', 'operations']),
    settings: cohortSettingsSchema,
    size: z.number().int(),
  })
  .meta({ id: 'Cohort' });
export type CohortAnswer = z.output<typeof cohortSchema>;

export const createCohortBodySchema = z
  .object({
    name: z.string({ error: 'name is required' }).trim().min(1, { error: 'name is required' }).max(200),
    description: z.string().trim().max(2000).default(''),
    color: z.enum(COHORT_COLORS, { error: `color is one of ${COHORT_COLORS.join(', ')}` }).default('white'),
    purposeOfUse: z.enum(['treatment', 'operations']).default('treatment'),
    settings: cohortSettingsSchema.prefault({}),
  })
  .meta({ id: 'CreateCohort' });
export type CreateCohortBody = z.output<typeof createCohortBodySchema>;

export const addPatientToCohortsBodySchema = z
  .object({
    cohortIds: z.array(idSchema, { error: 'cohortIds is required: a list of cohort ids' }).min(1).max(1000),
  })
  .meta({ id: 'AddPatientToCohorts' });
