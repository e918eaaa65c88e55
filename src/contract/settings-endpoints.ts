import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { idempotency } from './endpoint-parts.ts';
import { idSchema } from './primitives.ts';
import { settingsBodySchema, settingsSchema, webhookStatusSchema } from './settings.ts';
import {
  retryWebhooksBodySchema,
  rotatedKeySchema,
  rotateKeyBodySchema,
  testWebhookBodySchema,
} from './webhooks.ts';

export const settingsEndpoints = {
  getSettings: endpoint({
    method: 'GET',
    path: '/medical/v1/settings',
    reference: 'Operations around E1–E14',
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Get settings',
    responses: { 200: settingsSchema },
  }),
  updateSettings: endpoint({
    method: 'POST',
    path: '/medical/v1/settings',
    reference: 'Operations around E1–E14',
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Set the webhook destination',
    headers: idempotency,
    body: settingsBodySchema,
    responses: { 200: settingsSchema },
  }),
  getWebhookStatus: endpoint({
    method: 'GET',
    path: '/medical/v1/settings/webhook',
    reference: 'Operations around E1–E14',
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Health of the webhook destination',
    responses: { 200: webhookStatusSchema },
  }),
  retryWebhooks: endpoint({
    method: 'POST',
    path: '/medical/v1/settings/webhook/retry',
    reference: 'Operations around E1–E14',
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Resend webhooks',
    description:
      'Without a body, resends all undelivered events. With `eventId`, or `from` and `to`, resends those events, delivered or not, with their original ids. At most 10,000 events per request.',
    headers: idempotency,
    body: retryWebhooksBodySchema,
    responses: { 200: z.object({ message: z.string(), events: z.number().int() }) },
    errors: [404],
  }),
  testWebhook: endpoint({
    method: 'POST',
    path: '/medical/v1/settings/webhook/test',
    reference: 'Webhooks out',
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Send a test event',
    headers: idempotency,
    body: testWebhookBodySchema,
    responses: { 200: z.object({ message: z.string(), eventId: idSchema }) },
    errors: [404],
  }),
  rotateSettingsKey: endpoint({
    method: 'POST',
    path: '/medical/v1/settings/webhook/key',
    reference: 'Webhooks out',
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Rotate the key of the webhook destination',
    description: 'Until the overlap ends, `webhook-signature` contains one signature per key.',
    headers: idempotency,
    body: rotateKeyBodySchema,
    responses: { 200: rotatedKeySchema },
  }),
} as const;
