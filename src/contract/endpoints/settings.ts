import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { settingsBodySchema, settingsSchema, webhookStatusSchema } from '../settings.ts';
import { idempotency } from './common.ts';

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
    summary: 'Send undelivered webhooks again',
    headers: idempotency,
    responses: { 200: z.object({ message: z.string(), events: z.number().int() }) },
  }),
} as const;
