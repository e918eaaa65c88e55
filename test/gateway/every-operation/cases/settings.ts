import type { settingsEndpoints } from '../../../../src/contract/settings.ts';
import {
  type Build,
  badBody,
  NO_ID,
  type OperationCases,
  type Refused,
} from '../operation-cases.ts';

const URL_OF_SETTINGS = 'https://hooks.example.org/medical';
const destinationSet: Build = async ({ make }) => {
  await make.call('POST', 'settings', { webhookUrl: URL_OF_SETTINGS });
  return {};
};
const unset: Refused['send'] = async ({ make }) => {
  await make.call('POST', 'settings', { webhookUrl: null });
  return {};
};

/** Where webhooks must not go (interface-decisions.md, Webhooks out). */
export const badAddresses = (member: string): Refused[] =>
  [
    'hooks.example.org',
    'ftp://hooks.example.org/',
    'http://hooks.example.org/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://10.0.0.8/',
    'https://169.254.169.254/latest/meta-data',
    'https://localhost/',
    'https://user:password@hooks.example.org/',
  ].map((url) => badBody({ [member]: url }, member, ''));

export const KEY_RULES: Refused[] = [
  badBody({ overlapHours: -1 }, 'overlapHours', 'from 0 to 168'),
  badBody({ overlapHours: 169 }, 'overlapHours', 'from 0 to 168'),
  badBody({ overlapHours: '24' }, 'overlapHours', 'from 0 to 168'),
];

export const settingsCases: Record<
  keyof typeof settingsEndpoints,
  OperationCases
> = {
  getSettings: { good: destinationSet },
  updateSettings: {
    good: () => ({ body: { webhookUrl: URL_OF_SETTINGS } }),
    more: [
      {
        what: 'no address',
        status: 200,
        send: () => ({ body: { webhookUrl: null } }),
        has: { webhookUrl: null, webhookKey: null },
      },
      { what: 'nothing', status: 200, send: () => ({ body: {} }) },
    ],
    refused: badAddresses('webhookUrl'),
  },
  getWebhookStatus: { good: destinationSet },
  retryWebhooks: {
    good: destinationSet,
    more: [
      {
        what: 'a time',
        status: 200,
        send: () => ({
          body: {
            from: '2026-01-01T00:00:00Z',
            to: '2026-01-02T00:00:00+01:00',
          },
        }),
        has: { events: 0 },
      },
    ],
    refused: [
      badBody({ eventId: 'x' }, 'eventId', 'expected a UUID'),
      badBody(
        { eventId: NO_ID, from: '2026-01-01T00:00:00Z' },
        'eventId',
        'cannot be used together with from or to',
      ),
      badBody(
        { to: '2026-01-01T00:00:00Z' },
        'from',
        'is required if to is given',
      ),
      badBody({ from: 'monday' }, 'from', ''),
      badBody(
        { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' },
        'to',
        'is before from',
      ),
      badBody({ webhookId: NO_ID }, 'webhookId', 'can only be used together'),
      {
        what: 'an unknown event',
        status: 404,
        send: () => ({ body: { eventId: NO_ID } }),
        message: 'Event not found',
      },
      {
        what: 'an unknown destination',
        status: 404,
        send: () => ({ body: { eventId: NO_ID, webhookId: NO_ID } }),
        message: 'Webhook not found',
      },
    ],
  },
  testWebhook: {
    good: destinationSet,
    refused: [
      badBody({ webhookId: 'x' }, 'webhookId', 'expected a UUID'),
      {
        what: 'an unknown destination',
        status: 404,
        send: () => ({ body: { webhookId: NO_ID } }),
        message: 'Webhook not found',
      },
      {
        what: 'no destination',
        status: 400,
        send: unset,
        path: '',
        message: 'no webhookUrl is set',
      },
    ],
  },
  rotateSettingsKey: {
    good: destinationSet,
    refused: [
      ...KEY_RULES,
      {
        what: 'no destination',
        status: 400,
        send: unset,
        path: '',
        message: 'no webhookUrl is set',
      },
    ],
  },
};
