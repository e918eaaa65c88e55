import { v7 as uuidv7 } from 'uuid';
import {
  type ArrivedMessage,
  type TakenMessage,
  takeMessage,
} from '../../src/exchange/messaging/messages/take-message.ts';
import type { TestGateway } from './gateway.ts';
import { TEST_ID_HMAC_KEY } from './test-keys.ts';

/** Has a message come in for an account, as every transport does in the end. */
export const bringMessage = (
  { store, blobs }: Pick<TestGateway, 'store' | 'blobs'>,
  accountId: string,
  message: Partial<ArrivedMessage> & Pick<ArrivedMessage, 'destination'>,
): Promise<TakenMessage> =>
  takeMessage(
    {
      store,
      blobs,
      idHmacKey: TEST_ID_HMAC_KEY,
      arrivals: { tell: () => undefined },
    },
    accountId,
    {
      senderId: uuidv7(),
      subject: 'Result',
      body: 'It is fine.',
      attachments: [],
      ...message,
    },
  );
