import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { byId, idempotency } from './endpoint-parts.ts';
import {
  createWebhookBodySchema,
  rotatedKeySchema,
  rotateKeyBodySchema,
  updateWebhookBodySchema,
  webhookSchema,
} from './webhooks.ts';

const reference = 'Webhooks out';

export const webhookEndpoints = {
  listWebhooks: endpoint({
    method: 'GET',
    path: '/medical/v1/webhook',
    reference,
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'List further webhook destinations',
    responses: { 200: z.object({ webhooks: z.array(webhookSchema) }) },
  }),
  createWebhook: endpoint({
    method: 'POST',
    path: '/medical/v1/webhook',
    reference,
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Create a further webhook destination',
    description:
      'The destination receives the events that match its `types` (such as `patient.admit`, `network-query.*` or `*`), signed with its own key. The destination of the settings still receives all events.',
    headers: idempotency,
    body: createWebhookBodySchema,
    responses: { 200: webhookSchema },
  }),
  getWebhook: endpoint({
    method: 'GET',
    path: '/medical/v1/webhook/:id',
    reference,
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Get a further webhook destination and its health',
    params: byId,
    responses: { 200: webhookSchema },
    errors: [404],
  }),
  updateWebhook: endpoint({
    method: 'PATCH',
    path: '/medical/v1/webhook/:id',
    reference,
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Change a further webhook destination',
    description:
      'Setting `url`, even to the same value, re-enables a destination that was disabled by a 410 response.',
    params: byId,
    body: updateWebhookBodySchema,
    responses: { 200: webhookSchema },
    errors: [404],
  }),
  deleteWebhook: endpoint({
    method: 'DELETE',
    path: '/medical/v1/webhook/:id',
    reference,
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Delete a further webhook destination',
    description: 'Events that have not been delivered to it are dropped.',
    params: byId,
    responses: { 204: null },
    errors: [404],
  }),
  rotateWebhookKey: endpoint({
    method: 'POST',
    path: '/medical/v1/webhook/:id/key',
    reference,
    tag: 'settings',
    scope: 'webhooks-admin',
    summary: 'Rotate the key of a further webhook destination',
    description: 'Until the overlap ends, `webhook-signature` contains one signature per key.',
    params: byId,
    headers: idempotency,
    body: rotateKeyBodySchema,
    responses: { 200: rotatedKeySchema },
    errors: [404],
  }),
} as const;
