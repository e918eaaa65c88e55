import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { generateWebhookKey } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { addEvent, eventRow } from '../support/events-environment.ts';
import { queryTest as test } from '../support/fixtures.ts';
import { sealedWebhookKey } from '../support/test-keys.ts';

test('an event is looked up to be sent as soon as its account has a destination, and not before', async ({
  environment: { store, sent },
}) => {
  const accountId = uuidv7();
  await store.asSystem((tx) =>
    insertAccount(tx, { id: accountId, name: 'Test', settings: {} }),
  );
  const before = await addEvent(store, accountId, uuidv7());
  await store.asAccount(accountId, (tx) =>
    setDestination(tx, {
      id: uuidv7(),
      url: 'https://receiver.example.org/',
      key: sealedWebhookKey(generateWebhookKey()),
    }),
  );
  const after = await addEvent(store, accountId, uuidv7());

  expect(sent).not.toContain(before);
  expect(sent).toContain(after);
  expect((await eventRow(store, accountId, before))?.status).toBe('unrouted');
  expect((await eventRow(store, accountId, after))?.status).toBe('pending');
});
