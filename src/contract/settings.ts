import { z } from 'zod';
import { URL_LENGTH_MAX } from './bounds.ts';
import { type ExamplesOf, endpoint } from './endpoint.ts';
import { component, idSchema, instantSchema } from './primitives.ts';
import {
  retryWebhooksBodySchema,
  rotatedKeySchema,
  rotateKeyBodySchema,
  testWebhookBodySchema,
} from './webhooks.ts';

export const settingsBodySchema = component('UpdateSettings', {
  webhookUrl: z
    .url({
      protocol: /^https?$/,
      error: 'webhookUrl must be an http or https URL',
    })
    .max(URL_LENGTH_MAX)
    .nullish(),
});

/** `webhookKey` is null while no destination is set. */
export const settingsSchema = z
  .object({
    id: idSchema,
    webhookUrl: z.string().nullable(),
    webhookKey: z.string().nullable(),
  })
  .meta({ id: 'Settings' });
export type SettingsResponse = z.output<typeof settingsSchema>;

export const webhookStatusSchema = component('WebhookHealth', {
  webhookUrl: z.string().nullable(),
  webhookEnabled: z.boolean(),
  webhookStatus: z.enum(['healthy', 'failing', 'disabled', 'unknown']),
  lastStatusAt: instantSchema.nullable(),
  pending: z.number().int(),
  deadLettered: z.number().int(),
});

export const settingsEndpoints = {
  getSettings: endpoint(
    'GET /medical/v1/settings',
    {
      tag: 'settings',
      reference: 'Operations around E1–E14',
      summary: 'Get settings',
    },
    settingsSchema,
    {
      scope: 'webhooks-admin',
    },
  ),
  updateSettings: endpoint(
    'POST /medical/v1/settings',
    {
      tag: 'settings',
      reference: 'Operations around E1–E14',
      summary: 'Set the webhook destination',
    },
    settingsSchema,
    {
      scope: 'webhooks-admin',
      body: settingsBodySchema,
    },
  ),
  getWebhookStatus: endpoint(
    'GET /medical/v1/settings/webhook',
    {
      tag: 'settings',
      reference: 'Operations around E1–E14',
      summary: 'Health of the webhook destination',
    },
    webhookStatusSchema,
    {
      scope: 'webhooks-admin',
    },
  ),
  retryWebhooks: endpoint(
    'POST /medical/v1/settings/webhook/retry',
    {
      tag: 'settings',
      reference: 'Operations around E1–E14',
      summary: 'Resend webhooks',
      description:
        'Without a body, resends all undelivered events. With `eventId`, or `from` and `to`, resends those events, delivered or not, with their original ids. At most 10,000 events per request.',
    },
    {
      scope: 'webhooks-admin',
      body: retryWebhooksBodySchema,
      responses: {
        200: z.object({ message: z.string(), events: z.number().int() }),
      },
      errors: [404],
    },
  ),
  testWebhook: endpoint(
    'POST /medical/v1/settings/webhook/test',
    {
      tag: 'settings',
      reference: 'Webhooks out',
      summary: 'Send a test event',
    },
    {
      scope: 'webhooks-admin',
      body: testWebhookBodySchema,
      responses: { 200: z.object({ message: z.string(), eventId: idSchema }) },
      errors: [404],
    },
  ),
  rotateSettingsKey: endpoint(
    'POST /medical/v1/settings/webhook/key',
    {
      tag: 'settings',
      reference: 'Webhooks out',
      summary: 'Rotate the key of the webhook destination',
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
export const settingsExamples = {
  getSettings: {
    answer: {
      id: '01923e9a-11c0-7a52-b7de-0f4c6a8d2e15',
      webhookUrl: 'https://hooks.example.org/medical',
      webhookKey: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=',
    },
  },

  updateSettings: {
    body: { webhookUrl: 'https://hooks.example.org/medical' },
    answer: {
      id: '01923e9a-11c0-7a52-b7de-0f4c6a8d2e15',
      webhookUrl: 'https://hooks.example.org/medical',
      webhookKey: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=',
    },
  },

  getWebhookStatus: {
    answer: {
      webhookUrl: 'https://hooks.example.org/medical',
      webhookEnabled: true,
      webhookStatus: 'healthy',
      lastStatusAt: '2026-11-21T15:04:05.000Z',
      pending: 0,
      deadLettered: 0,
    },
  },

  retryWebhooks: {
    body: { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' },
    answer: { message: 'The selected events are being resent', events: 5 },
  },

  testWebhook: {
    body: {},
    answer: {
      message: 'A test event is being sent',
      eventId: '01923eab-7e8f-7091-a2b3-c4d5e6f70819',
    },
  },

  rotateSettingsKey: {
    body: { overlapHours: 24 },
    answer: {
      webhookKey: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=',
      previousKeyUntil: '2026-11-22T15:04:05.000Z',
    },
  },
} satisfies ExamplesOf<typeof settingsEndpoints>;
