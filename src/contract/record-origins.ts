import { z } from 'zod';
import { component, idSchema, recordSourceSchema } from './primitives.ts';

export const UNITING_KEYS = ['content', 'identifier', 'statement'] as const;
export type UnitingKey = (typeof UNITING_KEYS)[number];

export const recordOriginsSchema = component('RecordOrigins', {
  resourceType: z.string(),
  id: idSchema,
  origins: z
    .array(
      z.object({
        source: recordSourceSchema,
        sourceId: z.string().describe('Id of the resource at the source.'),
        fileName: z
          .string()
          .describe('Document or source response that contained it.'),
        fromDocument: z
          .boolean()
          .describe('Whether it was converted from a C-CDA document.'),
        collectedAt: z.iso.datetime(),
        versionId: z
          .string()
          .optional()
          .describe('Version of the resource at the source.'),
        lastUpdated: z
          .string()
          .optional()
          .describe('When the resource was last updated at the source.'),
        statedOn: z
          .string()
          .optional()
          .describe('The time of the document that it was converted from.'),
        leads: z
          .boolean()
          .describe(
            'Whether this delivery takes precedence; the others only add elements that it does not have.',
          ),
        superseded: z
          .boolean()
          .describe(
            'Whether it is an earlier version of the statement, of which nothing counts any more.',
          ),
        split: z
          .boolean()
          .describe(
            'Whether a caller split it from the other deliveries; `join` undoes that.',
          ),
        unitedBy: z
          .array(z.object({ key: z.enum(UNITING_KEYS), reason: z.string() }))
          .describe(
            'Keys by which it was matched with the other deliveries. Empty if it is the only one.',
          ),
      }),
    )
    .describe(
      'The delivery that takes precedence comes first. Empty for a Patient that no source delivered.',
    ),
});
export type RecordOrigins = z.output<typeof recordOriginsSchema>;

export const splitDeliverySchema = z.object({
  source: recordSourceSchema,
  sourceId: z
    .string()
    .min(1)
    .max(255)
    .describe('The id that the source gave it, as the origins name it.'),
});
export type SplitDelivery = z.output<typeof splitDeliverySchema>;
