import { z } from 'zod';
import { URL_LENGTH_MAX } from './bounds.ts';
import { idSchema, instantSchema } from './primitives.ts';

export const settingsBodySchema = z
  .object({
    webhookUrl: z
      .url({ protocol: /^https?$/, error: 'webhookUrl must be an http or https URL' })
      .max(URL_LENGTH_MAX)
      .nullish(),
  })
  .meta({ id: 'UpdateSettings' });

/** `webhookKey` is null while no destination is set. */
export const settingsSchema = z
  .object({ id: idSchema, webhookUrl: z.string().nullable(), webhookKey: z.string().nullable() })
  .meta({ id: 'Settings' });
export type SettingsResponse = z.output<typeof settingsSchema>;

export const webhookStatusSchema = z
  .object({
    webhookUrl: z.string().nullable(),
    webhookEnabled: z.boolean(),
    webhookStatus: z.enum(['healthy', 'failing', 'disabled', 'unknown']),
    lastStatusAt: instantSchema.nullable(),
    pending: z.number().int(),
    deadLettered: z.number().int(),
  })
  .meta({ id: 'WebhookStatus' });
