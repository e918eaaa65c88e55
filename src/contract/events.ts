import { z } from 'zod';
import { bulkCreateEventSchema } from './bulk-create.ts';
import { consolidatedDataEventSchema } from './consolidated-query.ts';
import { documentUrlsEventSchema } from './documents.ts';
import { eventMetaOf } from './event-meta.ts';
import { identityVerifiedEventSchema } from './identity.ts';
import { messageEventSchema } from './messages.ts';
import {
  encounterEventSchema,
  laboratoryEventSchema,
  pharmacyEventSchema,
} from './notifications.ts';
import {
  component,
  idSchema,
  instantSchema,
  SOURCE_TYPES,
  type SourceType,
  sourceTypeSchema,
} from './primitives.ts';
import { testEventSchema } from './webhook-test.ts';

/**
 * Sent when one source of a query has completed or failed (docs/interface.md,
 * Events).
 */
export const networkQueryEventSchema = component('NetworkQueryEvent', {
  meta: eventMetaOf(
    z.enum([
      'network-query.hie',
      'network-query.pharmacy',
      'network-query.lab',
    ]),
  ),
  payload: z.object({
    patientId: idSchema,
    externalId: z.string().optional(),
    consolidatedDataUrl: z.string(),
    source: z.object({
      type: sourceTypeSchema,
      status: z.enum(['completed', 'failed']),
      completedAt: instantSchema,
      /**
       * Number of resources removed from the record because the source deleted
       * them or moved them to another person.
       */
      retired: z.number().int().positive().optional(),
    }),
  }),
});
export type NetworkQueryEvent = z.output<typeof networkQueryEventSchema>;

export const firstDataReadyEventSchema = component('FirstDataReadyEvent', {
  meta: eventMetaOf(z.literal('network-query.hie.first-data-ready')),
  payload: z.object({
    patientId: idSchema,
    externalId: z.string().optional(),
    consolidatedDataUrl: z.string(),
    source: z.object({
      type: z.literal('hie'),
      status: z.literal('processing'),
      firstDataReadyAt: instantSchema,
    }),
  }),
});
export type FirstDataReadyEvent = z.output<typeof firstDataReadyEventSchema>;

export const pingEventSchema = z
  .object({ ping: z.string(), meta: eventMetaOf(z.literal('ping')) })
  .meta({ id: 'PingEvent' });

/** Every event that the exchange sends. */
export const webhookEventSchema = z
  .union([
    networkQueryEventSchema,
    firstDataReadyEventSchema,
    pingEventSchema,
    testEventSchema,
    encounterEventSchema,
    pharmacyEventSchema,
    laboratoryEventSchema,
    bulkCreateEventSchema,
    consolidatedDataEventSchema,
    identityVerifiedEventSchema,
    messageEventSchema,
    documentUrlsEventSchema,
  ])
  .meta({ id: 'WebhookEvent' });
export type WebhookEvent = z.output<typeof webhookEventSchema>;

export const networkQueryEventType = (
  source: SourceType,
): `network-query.${SourceType}` => `network-query.${source}`;
export const NETWORK_QUERY_EVENT_TYPES = SOURCE_TYPES.map(
  networkQueryEventType,
);
