import type { webhookEndpoints } from '../../../../src/contract/webhooks.ts';
import {
  type Build,
  badBody,
  type OperationCases,
  type Refused,
} from '../operation-cases.ts';
import { badAddresses, KEY_RULES } from './settings.ts';

const body = {
  url: 'https://hooks.example.org/adt',
  types: ['patient.*', 'network-query.hie'],
};
/** There may be twenty of them, so an older one makes room. */
const destination: Build = async ({ account, make }) => {
  const { webhooks } = (await account.call('GET', 'webhook')).json();
  if (webhooks.length > 10)
    await account.call('DELETE', `webhook/${webhooks[0].id}`);
  return { params: { id: (await make.call('POST', 'webhook', body)).id } };
};

const RULES: Refused[] = [
  ...badAddresses('url'),
  badBody({ types: [] }, 'types', 'at least one type'),
  badBody(
    { types: ['patient.birth'] },
    'types[0]',
    'is neither an event type nor',
  ),
  badBody({ types: ['*.admit'] }, 'types[0]', 'is neither an event type nor'),
  badBody({ types: 'all' }, 'types', 'a list of event types'),
];

export const webhookCases: Record<
  keyof typeof webhookEndpoints,
  OperationCases
> = {
  listWebhooks: {
    good: async (world) => {
      await destination(world);
      return {};
    },
  },
  createWebhook: {
    good: async (world) => {
      await destination(world);
      return { body };
    },
    refused: [
      ...RULES,
      badBody({ url: undefined }, 'url', ''),
      badBody({ types: undefined }, 'types', 'is required'),
    ],
  },
  getWebhook: { good: destination },
  updateWebhook: {
    good: async (world) => ({
      ...(await destination(world)),
      body: { types: ['*'] },
    }),
    refused: [
      ...RULES,
      {
        what: 'nothing to change',
        status: 400,
        send: (_world, good) => ({ ...good, body: {} }),
        path: '',
        message: 'at least one of url and types',
      },
    ],
  },
  deleteWebhook: { good: destination },
  rotateWebhookKey: { good: destination, refused: KEY_RULES },
};
