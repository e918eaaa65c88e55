import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { idSchema } from './primitives.ts';
import { settingsBodySchema, settingsSchema, webhookStatusSchema } from './settings.ts';
import {
  retryWebhooksBodySchema,
  rotatedKeySchema,
  rotateKeyBodySchema,
  testWebhookBodySchema,
} from './webhooks.ts';

export const settingsEndpoints = {
  getSettings: endpoint('GET /medical/v1/settings', {
    scope: 'webhooks-admin',
    responses: { 200: settingsSchema },
  }),
  updateSettings: endpoint('POST /medical/v1/settings', {
    scope: 'webhooks-admin',
    body: settingsBodySchema,
    responses: { 200: settingsSchema },
  }),
  getWebhookStatus: endpoint('GET /medical/v1/settings/webhook', {
    scope: 'webhooks-admin',
    responses: { 200: webhookStatusSchema },
  }),
  retryWebhooks: endpoint('POST /medical/v1/settings/webhook/retry', {
    scope: 'webhooks-admin',
    body: retryWebhooksBodySchema,
    responses: { 200: z.object({ message: z.string(), events: z.number().int() }) },
    errors: [404],
  }),
  testWebhook: endpoint('POST /medical/v1/settings/webhook/test', {
    scope: 'webhooks-admin',
    body: testWebhookBodySchema,
    responses: { 200: z.object({ message: z.string(), eventId: idSchema }) },
    errors: [404],
  }),
  rotateSettingsKey: endpoint('POST /medical/v1/settings/webhook/key', {
    scope: 'webhooks-admin',
    body: rotateKeyBodySchema,
    responses: { 200: rotatedKeySchema },
  }),
} as const;
