import type { settingsEndpoints } from '../../../../../contract/settings-endpoints.ts';
import type { webhookEndpoints } from '../../../../../contract/webhooks-endpoints.ts';
import { AT, IDS, type OperationExamples } from './example.ts';

/** Not a key: its 32 bytes spell EXAMPLE. */
const webhookKey = 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRUVYQU0=';
const rotated = { webhookKey, previousKeyUntil: '2026-11-22T15:04:05.000Z' };
const settings = { id: IDS.account, webhookUrl: 'https://hooks.example.org/medical', webhookKey };
const health = { lastStatusAt: AT, pending: 0, deadLettered: 0 };

export const settingsExamples: OperationExamples<keyof typeof settingsEndpoints> = {
  getSettings: { answer: settings },
  updateSettings: { body: { webhookUrl: settings.webhookUrl }, answer: settings },
  getWebhookStatus: {
    answer: {
      webhookUrl: settings.webhookUrl,
      webhookEnabled: true,
      webhookStatus: 'healthy',
      ...health,
    },
  },
  retryWebhooks: {
    body: { from: '2026-11-20T00:00:00Z', to: '2026-11-21T00:00:00Z' },
    answer: { message: 'The selected events are being resent', events: 5 },
  },
  testWebhook: { body: {}, answer: { message: 'A test event is being sent', eventId: IDS.event } },
  rotateSettingsKey: { body: { overlapHours: 24 }, answer: rotated },
};

const webhookBody = { url: 'https://hooks.example.org/adt', types: ['patient.*', 'network-query.hie'] };
const webhook = {
  id: IDS.webhook,
  ...webhookBody,
  webhookKey,
  enabled: true,
  status: 'healthy',
  ...health,
  createdAt: AT,
};
const id = IDS.webhook;

export const webhookExamples: OperationExamples<keyof typeof webhookEndpoints> = {
  listWebhooks: { answer: { webhooks: [webhook] } },
  createWebhook: { body: webhookBody, answer: { ...webhook, status: 'unknown', lastStatusAt: null } },
  getWebhook: { params: { id }, answer: webhook },
  updateWebhook: { params: { id }, body: { types: ['*'] }, answer: { ...webhook, types: ['*'] } },
  deleteWebhook: { params: { id } },
  rotateWebhookKey: { params: { id }, body: { overlapHours: 24 }, answer: rotated },
};
