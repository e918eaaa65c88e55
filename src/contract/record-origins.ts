import { z } from 'zod';
import { idSchema, recordSourceSchema } from './primitives.ts';

export const UNITING_KEYS = ['content', 'identifier'] as const;
export type UnitingKey = (typeof UNITING_KEYS)[number];

export const recordOriginsSchema = z
  .object({
    resourceType: z.string(),
    id: idSchema,
    origins: z
      .array(
        z.object({
          source: recordSourceSchema,
          sourceId: z.string().meta({ description: 'The id that the source gave it.' }),
          fileName: z.string().meta({ description: 'The document that it came in.' }),
          fromDocument: z.boolean().meta({ description: 'It was made from a C-CDA document.' }),
          collectedAt: z.iso.datetime(),
          versionId: z.string().optional().meta({ description: "The source's version of it." }),
          lastUpdated: z.string().optional().meta({ description: 'When the source last wrote it.' }),
          leads: z
            .boolean()
            .meta({ description: 'What it says stands; the others add what it is silent about.' }),
          split: z.boolean().meta({ description: 'A caller split it from others; `join` undoes that.' }),
          unitedBy: z
            .array(z.object({ key: z.enum(UNITING_KEYS), reason: z.string() }))
            .meta({ description: 'The keys that it shares with others of these. Empty when it is alone.' }),
        }),
      )
      .meta({ description: 'The leading one first. Empty for a Patient that no source delivered.' }),
  })
  .meta({ id: 'RecordOrigins' });
export type RecordOrigins = z.output<typeof recordOriginsSchema>;

export const splitDeliverySchema = z.object({
  source: recordSourceSchema,
  sourceId: z
    .string()
    .min(1)
    .max(255)
    .meta({ description: 'The id that the source gave it, as the origins name it.' }),
});
export type SplitDelivery = z.output<typeof splitDeliverySchema>;
