import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId } from './endpoint-parts.ts';
import {
  createWebhookBodySchema,
  rotatedKeySchema,
  rotateKeyBodySchema,
  updateWebhookBodySchema,
  webhookSchema,
} from './webhooks.ts';

export const webhookEndpoints = {
  listWebhooks: endpoint('GET /medical/v1/webhook', {
    scope: 'webhooks-admin',
    responses: { 200: z.object({ webhooks: z.array(webhookSchema) }) },
  }),
  createWebhook: endpoint('POST /medical/v1/webhook', {
    scope: 'webhooks-admin',
    body: createWebhookBodySchema,
    responses: { 200: webhookSchema },
  }),
  getWebhook: endpoint('GET /medical/v1/webhook/:id', {
    scope: 'webhooks-admin',
    params: byId,
    responses: { 200: webhookSchema },
    errors: [404],
  }),
  updateWebhook: endpoint('PATCH /medical/v1/webhook/:id', {
    scope: 'webhooks-admin',
    params: byId,
    body: updateWebhookBodySchema,
    responses: { 200: webhookSchema },
    errors: [404],
  }),
  deleteWebhook: endpoint('DELETE /medical/v1/webhook/:id', {
    scope: 'webhooks-admin',
    params: byId,
    responses: { 204: null },
    errors: [404],
  }),
  rotateWebhookKey: endpoint('POST /medical/v1/webhook/:id/key', {
    scope: 'webhooks-admin',
    params: byId,
    body: rotateKeyBodySchema,
    responses: { 200: rotatedKeySchema },
    errors: [404],
  }),
} as const;
