import type { sentEventEndpoints } from '../../../../src/contract/sent-events.ts';
import {
  type Build,
  badBody,
  NO_ID,
  type OperationCases,
} from '../operation-cases.ts';

/** A test event of a destination, which stands for all others. */
const sent: Build = async ({ make }) => {
  await make.call('POST', 'settings', {
    webhookUrl: 'https://hooks.example.org/medical',
  });
  const { eventId } = await make.call('POST', 'settings/webhook/test', {});
  return { params: { id: eventId } };
};

export const sentEventCases: Record<
  keyof typeof sentEventEndpoints,
  OperationCases
> = {
  listEvents: {
    good: async (world) => {
      await sent(world);
      return { query: { type: 'webhook.test' } };
    },
    refused: [
      {
        what: 'an unknown status',
        status: 400,
        send: () => ({ query: { status: 'gone' } }),
        path: 'status',
        message: '',
      },
      {
        what: 'a day that is none',
        status: 400,
        send: () => ({ query: { from: 'monday' } }),
        path: 'from',
        message: '',
      },
    ],
  },
  getEvent: { good: sent },
  resendEvent: {
    good: sent,
    more: [
      {
        what: 'nothing in the body',
        status: 200,
        send: async (world) => ({ ...(await sent(world)), body: undefined }),
      },
    ],
    refused: [
      badBody({ webhookId: 'x' }, 'webhookId', 'expected a UUID'),
      {
        what: 'an unknown destination',
        status: 404,
        send: async (world) => ({
          ...(await sent(world)),
          body: { webhookId: NO_ID },
        }),
        message: 'Webhook not found',
      },
    ],
  },
};
