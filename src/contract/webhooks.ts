import { z } from 'zod';
import {
  boundedList,
  quoted,
  requiredMembers,
  URL_LENGTH_MAX,
} from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { webhookEventSchema } from './events.ts';
import { component, idSchema, instantSchema } from './primitives.ts';
import { TEST_EVENT_TYPE } from './webhook-test.ts';

/** The values of `meta.type` that events of this schema have. */
export function eventTypesOf({
  shape,
}: (typeof webhookEventSchema.options)[number]): string[] {
  const { type } = shape.meta.shape;
  return 'options' in type ? [...type.options] : [...type.values];
}

/**
 * Event types that a destination can subscribe to. Pings and test events always
 * go to the destination they test.
 */
export const WEBHOOK_EVENT_TYPES: readonly string[] = webhookEventSchema.options
  .flatMap(eventTypesOf)
  .filter((type) => type !== 'ping' && type !== TEST_EVENT_TYPE)
  .sort();

/**
 * Whether a filter matches an event type: exactly, or as a prefix if the filter
 * ends with `*`.
 */
export const passesFilter = (filter: string, type: string): boolean =>
  filter.endsWith('*') ? type.startsWith(filter.slice(0, -1)) : type === filter;

const filterSchema = z
  .string()
  .max(100, { abort: true })
  .trim()
  .refine(
    (filter) =>
      /^[^*]*\*?$/.test(filter) &&
      WEBHOOK_EVENT_TYPES.some((type) => passesFilter(filter, type)),
    {
      error: ({ input }) =>
        `${quoted(input)} is neither an event type nor a prefix of one followed by *; event types are ${WEBHOOK_EVENT_TYPES.join(', ')}`,
    },
  )
  .meta({
    anyOf: [
      { enum: [...WEBHOOK_EVENT_TYPES] },
      { pattern: '^\\s*[a-z.-]*\\*\\s*$' },
    ],
  });

const urlSchema = z
  .url({ protocol: /^https?$/, error: 'url must be an http or https URL' })
  .max(URL_LENGTH_MAX);
const typesSchema = boundedList(
  z
    .array(filterSchema, {
      error: 'types is required and must be a list of event types',
    })
    .min(1, { error: 'at least one type is required; use "*" for all events' }),
  50,
);

export const createWebhookBodySchema = z
  .object({ url: urlSchema, types: typesSchema })
  .meta({ id: 'CreateWebhook' });

export const updateWebhookBodySchema = z
  .object({ url: urlSchema.optional(), types: typesSchema.optional() })
  .refine(({ url, types }) => url !== undefined || types !== undefined, {
    error: 'at least one of url and types is required',
  })
  .meta({
    id: 'UpdateWebhook',
    anyOf: [requiredMembers('url'), requiredMembers('types')],
  });

/** A webhook destination in addition to the one of the settings. */
export const webhookSchema = component('Webhook', {
  id: idSchema,
  url: z.string(),
  types: z.array(z.string()),
  webhookKey: z.string(),
  previousKeyUntil: instantSchema
    .optional()
    .describe('Until then, webhooks are also signed with the previous key.'),
  enabled: z.boolean(),
  status: z.enum(['healthy', 'failing', 'disabled', 'unknown']),
  lastStatusAt: instantSchema.nullable(),
  pending: z.number().int(),
  deadLettered: z.number().int(),
  createdAt: instantSchema,
});
export type WebhookResponse = z.output<typeof webhookSchema>;

/** Hours for which the previous key still signs after a rotation. */
export const KEY_OVERLAP_HOURS = { default: 24, max: 168 } as const;
const OVERLAP_ERROR = `overlapHours must be a number from 0 to ${KEY_OVERLAP_HOURS.max}`;

export const rotateKeyBodySchema = z
  .object({
    overlapHours: z
      .number({ error: OVERLAP_ERROR })
      .min(0, { error: OVERLAP_ERROR })
      .max(KEY_OVERLAP_HOURS.max, { error: OVERLAP_ERROR })
      .optional(),
  })
  .nullish()
  .transform((body) => ({
    overlapHours: body?.overlapHours ?? KEY_OVERLAP_HOURS.default,
  }));
export const rotatedKeySchema = z.object({
  webhookKey: z.string(),
  previousKeyUntil: instantSchema,
});

/** Selects the events to resend; without a member, all undelivered events. */
export const retryWebhooksBodySchema = z
  .object({
    eventId: idSchema
      .optional()
      .describe('`meta.messageId` of the event, delivered or not.'),
    from: instantSchema.optional(),
    to: instantSchema.optional().describe('Default: now.'),
    webhookId: idSchema
      .optional()
      .describe('Resend to this destination only. Default: all destinations.'),
  })
  .meta({
    id: 'RetryWebhooks',
    dependentRequired: { to: ['from'] },
    oneOf: [
      { ...requiredMembers('eventId'), properties: { eventId: {} } },
      { ...requiredMembers('from'), properties: { from: {} } },
      { maxProperties: 0 },
    ],
  })
  .nullish()
  .transform((body) => body ?? {})
  .superRefine(({ eventId, from, to, webhookId }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (eventId !== undefined && (from ?? to) !== undefined)
      refuse('eventId', 'cannot be used together with from or to');
    if (to !== undefined && from === undefined)
      refuse('from', 'is required if to is given');
    if (from !== undefined && to !== undefined && new Date(from) > new Date(to))
      refuse('to', 'is before from; use a later time');
    if (webhookId !== undefined && (eventId ?? from) === undefined)
      refuse('webhookId', 'can only be used together with eventId or from');
  });

export const testWebhookBodySchema = z
  .object({
    webhookId: idSchema
      .optional()
      .describe('Default: the destination of the settings.'),
  })
  .nullish()
  .transform((body) => body ?? {});

export const webhookEndpoints = {
  listWebhooks: endpoint(
    'GET /medical/v1/webhook',
    {
      tag: 'settings',
      reference: 'Webhooks out',
      summary: 'List further webhook destinations',
    },
    {
      scope: 'webhooks-admin',
      responses: { 200: z.object({ webhooks: z.array(webhookSchema) }) },
    },
  ),
  createWebhook: endpoint(
    'POST /medical/v1/webhook',
    {
      tag: 'settings',
      reference: 'Webhooks out',
      summary: 'Create a further webhook destination',
      description:
        'The destination receives the events that match its `types` (such as `patient.admit`, `network-query.*` or `*`), signed with its own key. The destination of the settings still receives all events.',
    },
    webhookSchema,
    {
      scope: 'webhooks-admin',
      body: createWebhookBodySchema,
    },
  ),
  getWebhook: endpoint(
    'GET /medical/v1/webhook/:id',
    {
      tag: 'settings',
      reference: 'Webhooks out',
      summary: 'Get a further webhook destination and its health',
    },
    webhookSchema,
    {
      scope: 'webhooks-admin',
    },
  ),
  updateWebhook: endpoint(
    'PATCH /medical/v1/webhook/:id',
    {
      tag: 'settings',
      reference: 'Webhooks out',
      summary: 'Change a further webhook destination',
      description:
        'Setting `url`, even to the same value, re-enables a destination that was disabled by a 410 response.',
    },
    webhookSchema,
    {
      scope: 'webhooks-admin',
      body: updateWebhookBodySchema,
    },
  ),
  deleteWebhook: endpoint(
    'DELETE /medical/v1/webhook/:id',
    {
      tag: 'settings',
      reference: 'Webhooks out',
      summary: 'Delete a further webhook destination',
      description: 'Events that have not been delivered to it are dropped.',
    },
    null,
    {
      scope: 'webhooks-admin',
    },
  ),
  rotateWebhookKey: endpoint(
    'POST /medical/v1/webhook/:id/key',
    {
      tag: 'settings',
      reference: 'Webhooks out',
      summary: 'Rotate the key of a further webhook destination',
      description:
        'Until the overlap ends, `webhook-signature` contains one signature per key.',
    },
    rotatedKeySchema,
    {
      scope: 'webhooks-admin',
      body: rotateKeyBodySchema,
    },
  ),
} as const;

/** A request and its response for each of them, for the API reference. */
export const webhookExamples = {
  listWebhooks: {
    answer: {
      webhooks: [
        {
          id: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708',
          url: 'https://hooks.example.org/adt',
          types: ['patient.*', 'network-query.hie'],
          webhookKey: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=',
          enabled: true,
          status: 'healthy',
          lastStatusAt: '2026-11-21T15:04:05.000Z',
          pending: 0,
          deadLettered: 0,
          createdAt: '2026-11-21T15:04:05.000Z',
        },
      ],
    },
  },

  createWebhook: {
    body: {
      url: 'https://hooks.example.org/adt',
      types: ['patient.*', 'network-query.hie'],
    },
    answer: {
      id: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708',
      url: 'https://hooks.example.org/adt',
      types: ['patient.*', 'network-query.hie'],
      webhookKey: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=',
      enabled: true,
      status: 'unknown',
      lastStatusAt: null,
      pending: 0,
      deadLettered: 0,
      createdAt: '2026-11-21T15:04:05.000Z',
    },
  },

  getWebhook: {
    params: { id: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708' },
    answer: {
      id: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708',
      url: 'https://hooks.example.org/adt',
      types: ['patient.*', 'network-query.hie'],
      webhookKey: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=',
      enabled: true,
      status: 'healthy',
      lastStatusAt: '2026-11-21T15:04:05.000Z',
      pending: 0,
      deadLettered: 0,
      createdAt: '2026-11-21T15:04:05.000Z',
    },
  },

  updateWebhook: {
    params: { id: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708' },
    body: { types: ['*'] },
    answer: {
      id: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708',
      url: 'https://hooks.example.org/adt',
      types: ['*'],
      webhookKey: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=',
      enabled: true,
      status: 'healthy',
      lastStatusAt: '2026-11-21T15:04:05.000Z',
      pending: 0,
      deadLettered: 0,
      createdAt: '2026-11-21T15:04:05.000Z',
    },
  },

  deleteWebhook: { params: { id: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708' } },

  rotateWebhookKey: {
    params: { id: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708' },
    body: { overlapHours: 24 },
    answer: {
      webhookKey: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=',
      previousKeyUntil: '2026-11-22T15:04:05.000Z',
    },
  },
} satisfies ExamplesOf<typeof webhookEndpoints>;
