import { z } from 'zod';
import {
  component,
  described,
  idSchema,
  recordSourceSchema,
} from './primitives.ts';

export const UNITING_KEYS = ['content', 'identifier', 'statement'] as const;
export type UnitingKey = (typeof UNITING_KEYS)[number];

export const recordOriginsSchema = component('RecordOrigins', {
  resourceType: z.string(),
  id: idSchema,
  origins: z.array(
    described('RecordOrigins.origins', {
      source: recordSourceSchema,
      sourceId: z.string(),
      fileName: z.string(),
      fromDocument: z.boolean(),
      collectedAt: z.iso.datetime(),
      versionId: z.string().optional(),
      lastUpdated: z.string().optional(),
      statedOn: z.string().optional(),
      leads: z.boolean(),
      superseded: z.boolean(),
      split: z.boolean(),
      unitedBy: z.array(
        z.object({ key: z.enum(UNITING_KEYS), reason: z.string() }),
      ),
    }),
  ),
});
export type RecordOrigins = z.output<typeof recordOriginsSchema>;

export const splitDeliverySchema = described('splitRecordResource body', {
  source: recordSourceSchema,
  sourceId: z.string().min(1).max(255),
});
export type SplitDelivery = z.output<typeof splitDeliverySchema>;
