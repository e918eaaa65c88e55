import { z } from 'zod';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { pageMetaSchema, pageQuery } from './paging.ts';
import { component, idSchema, instantSchema } from './primitives.ts';

/**
 * `pending`: a destination waits for it. `failed`: it was dead-lettered at a
 * destination, and waits at none. `delivered`: all have it. `unrouted`: the
 * account had no destination for it.
 */
export const SENT_EVENT_STATUSES = [
  'pending',
  'delivered',
  'failed',
  'unrouted',
] as const;
const statusSchema = z.enum(SENT_EVENT_STATUSES);

/**
 * Columns by which the list of events can be sorted; without `sort`, newest
 * first.
 */
export const SENT_EVENT_SORT = ['occurredAt', 'id'] as const;

const attemptSchema = component('EventAttempt', {
  at: instantSchema,
  httpStatus: z
    .number()
    .int()
    .optional()
    .describe('What the receiver answered; absent if it did not answer.'),
  outcome: z.string().describe('`200`, or why it failed; never a body.'),
});

const deliverySchema = component('EventDelivery', {
  webhookId: idSchema.describe(
    'The destination; that of the settings has an id too.',
  ),
  url: z.string().optional(),
  status: statusSchema,
  attempts: z.array(attemptSchema).describe('Oldest first.'),
  nextAttemptAt: instantSchema
    .optional()
    .describe('Not before this time; absent if it is not sent again.'),
  deliveredAt: instantSchema.optional(),
});

export const sentEventSchema = component('SentEvent', {
  id: idSchema.describe('`meta.messageId`, and the header `webhook-id`.'),
  type: z.string(),
  status: statusSchema,
  occurredAt: instantSchema,
  patientId: idSchema.optional(),
  requestId: idSchema.optional(),
  deliveries: z.array(deliverySchema),
});
export type SentEvent = z.output<typeof sentEventSchema>;

const sentEventWithBodySchema = component('SentEventWithBody', {
  ...sentEventSchema.shape,
  body: z
    .record(z.string(), z.unknown())
    .describe('What was sent, without its links, which were made for it.'),
});

export const resendEventBodySchema = z
  .object({
    webhookId: idSchema
      .optional()
      .describe('Resend to this destination only. Default: all destinations.'),
  })
  .nullish()
  .transform((body) => body ?? {});

export const sentEventEndpoints = {
  listEvents: endpoint(
    'GET /medical/v1/event',
    {
      tag: 'event',
      reference: 'Webhooks out',
      summary: 'List events that were sent to webhook destinations',
      description:
        'With every attempt, and what the receiver answered. The operator decides for how long they are kept.',
    },
    {
      scope: 'webhooks-admin',
      query: pageQuery(SENT_EVENT_SORT, {
        type: z.string().max(100).optional(),
        status: statusSchema.optional(),
        patientId: idSchema.optional(),
        requestId: idSchema.optional(),
        from: instantSchema.optional(),
        to: instantSchema.optional(),
      }),
      responses: {
        200: z.object({
          events: z.array(sentEventSchema),
          meta: pageMetaSchema,
        }),
      },
    },
  ),
  getEvent: endpoint(
    'GET /medical/v1/event/:id',
    {
      tag: 'event',
      reference: 'Webhooks out',
      summary: 'Get an event, with the body that was sent',
    },
    sentEventWithBodySchema,
    { scope: 'webhooks-admin' },
  ),
  resendEvent: endpoint(
    'POST /medical/v1/event/:id/resend',
    {
      tag: 'event',
      reference: 'Webhooks out',
      summary: 'Send an event again',
      description:
        'Delivered or not, with the same `webhook-id` and new links. The destinations are those whose filters match today.',
    },
    z.object({
      message: z.string(),
      events: z.number().int().describe('To how many destinations it is sent.'),
    }),
    { scope: 'webhooks-admin', body: resendEventBodySchema },
  ),
} as const;

const EXAMPLE: SentEvent = {
  id: '01923ea2-1b00-7000-8000-0051c0de0001',
  type: 'network-query.hie',
  status: 'delivered',
  occurredAt: '2026-11-21T15:05:10.000Z',
  patientId: '01923e9d-02b4-7f6a-8c11-3f5e9d7a6b21',
  requestId: '01923ea1-8d21-7f43-b5c6-d7e8f9011223',
  deliveries: [
    {
      webhookId: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708',
      url: 'https://hooks.example.org/adt',
      status: 'delivered',
      attempts: [
        {
          at: '2026-11-21T15:05:10.412Z',
          httpStatus: 503,
          outcome: 'the receiver answered 503',
        },
        {
          at: '2026-11-21T15:05:15.902Z',
          httpStatus: 200,
          outcome: '200',
        },
      ],
      deliveredAt: '2026-11-21T15:05:15.902Z',
    },
  ],
};

/** A request and its response for each of them, for the API reference. */
export const sentEventExamples = {
  listEvents: {
    query: { type: 'network-query.hie', status: 'delivered', count: 100 },
    answer: {
      events: [EXAMPLE],
      meta: { itemsOnPage: 1, itemsInTotal: 1 },
    },
  },
  getEvent: {
    params: { id: EXAMPLE.id },
    answer: {
      ...EXAMPLE,
      body: {
        meta: {
          messageId: EXAMPLE.id,
          requestId: EXAMPLE.requestId,
          when: EXAMPLE.occurredAt,
          type: EXAMPLE.type,
        },
        payload: {
          patientId: EXAMPLE.patientId,
          source: {
            type: 'hie',
            status: 'completed',
            completedAt: '2026-11-21T15:05:08.412Z',
          },
        },
      },
    },
  },
  resendEvent: {
    params: { id: EXAMPLE.id },
    body: { webhookId: '01923eaa-6d7e-7f80-91a2-b3c4d5e6f708' },
    answer: { message: 'The event is being sent again', events: 1 },
  },
} as const satisfies ExamplesOf<typeof sentEventEndpoints>;
