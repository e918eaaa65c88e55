import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import { createWebhookActivities } from '../../src/activities/exchange/webhook-delivery.ts';
import {
  insertDestination,
  rotateKey,
} from '../../src/exchange/messaging/webhooks/destination-store.ts';
import {
  requireSettingsDestination,
  rotateWebhookKey,
} from '../../src/exchange/messaging/webhooks/destinations.ts';
import { reopenMessages } from '../../src/exchange/messaging/webhooks/replay-store.ts';
import {
  createWebhookKeys,
  generateWebhookKey,
} from '../../src/exchange/platform/outbox/webhook-key.ts';
import {
  addEvent,
  createDeliveries,
  eventRow,
  hasWorkflow,
  type Received,
} from '../support/events-environment.ts';
import { eventsTest } from '../support/events-fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { testKeyRing } from '../support/test-keys.ts';

const test = eventsTest.extend(
  'accountWithTwo',
  { scope: 'file' },
  ({ environment, temporal, receive }) => {
    /**
     * An account with a destination in its settings and a further one, which
     * may fail.
     */
    async function accountWithTwo() {
      const { store } = environment;
      let failing = false;
      const main = await receive();
      const further = await receive(
        (_, response) => void response.writeHead(failing ? 503 : 200).end(),
      );
      const { accountId, webhookKey } = await environment.addAccount(
        {},
        main.url,
      );
      const key = generateWebhookKey();
      const { id: destinationId } = await store.asAccount(accountId, (tx) =>
        insertDestination(tx, {
          id: uuidv7(),
          url: further.url,
          types: ['network-query.*'],
          key: keys.seal(key),
        }),
      );
      return {
        ...createDeliveries(store, temporal),
        store,
        accountId,
        webhookKey,
        key,
        destinationId,
        main,
        further,
        fail: (value: boolean) => {
          failing = value;
        },
        event: (patientId = uuidv7()) => addEvent(store, accountId, patientId),
        copyOf: async (messageId: string) =>
          (
            await store.asAccount(accountId, (tx) =>
              tx.db
                .selectFrom('event')
                .select('id')
                .where('copy_of', '=', messageId)
                .executeTakeFirst(),
            )
          )?.id ?? '',
        row: (id: string) => eventRow(store, accountId, id),
      };
    }
    return accountWithTwo;
  },
);
const keys = createWebhookKeys(testKeyRing());
const verified = (key: string, { raw, headers }: Received) =>
  new Webhook(key).verify(raw, headers as Record<string, string>) as {
    meta: { messageId: string };
  };

test('each destination gets the message under the same id, signed with its own key', async ({
  accountWithTwo,
}) => {
  const {
    accountId,
    webhookDispatcher,
    main,
    further,
    event,
    copyOf,
    row,
    ...of
  } = await accountWithTwo();
  const messageId = await event();
  webhookDispatcher.send(accountId, [messageId]);
  await webhookDispatcher.drain();
  for (const [receiver, key] of [
    [main, of.webhookKey],
    [further, of.key],
  ] as const) {
    expect(receiver.received).toHaveLength(1);
    const [one] = receiver.received;
    if (one === undefined) throw new Error('nothing came');
    expect([one.id, verified(key, one).meta.messageId]).toEqual([
      messageId,
      messageId,
    ]);
    expect(one.headers['x-metriport-signature']).toBe(
      createHmac('sha256', key).update(one.raw).digest('hex'),
    );
  }
  expect(() =>
    verified(of.webhookKey, further.received[0] as Received),
  ).toThrow();
  expect([
    (await row(messageId)).status,
    (await row(await copyOf(messageId))).status,
  ]).toEqual(['delivered', 'delivered']);
});

test('one that fails holds back what follows for itself alone, and is tried again by a workflow of its own', async ({
  temporal,
  accountWithTwo,
}) => {
  const {
    store,
    accountId,
    webhookDispatcher,
    delivery,
    main,
    further,
    destinationId,
    ...of
  } = await accountWithTwo();
  const { event, copyOf, row, fail } = of;
  const { deliverDue } = createWebhookActivities({ store, delivery });
  fail(true);
  const patientId = uuidv7();
  const first = await event(patientId);
  const second = await event(patientId);
  webhookDispatcher.send(accountId, [first, second]);
  await webhookDispatcher.drain();
  expect(main.received.map(({ id }) => id)).toEqual([first, second]);
  expect(further.received.map(({ id }) => id)).toEqual([first]);
  const later = await copyOf(second);
  const destinationOfMain = (await row(first)).destination_id ?? '';
  expect(await hasWorkflow(temporal, accountId, destinationId)).toBe(true);
  expect(await hasWorkflow(temporal, accountId, destinationOfMain)).toBe(false);

  fail(false);
  expect(await delivery.attempt(accountId, later)).toMatchObject({
    state: 'blocked',
  });
  expect(
    await runActivity(deliverDue, { accountId, destinationId, dueNow: true }),
  ).toMatchObject({
    look: { state: 'empty' },
    sent: 2,
  });
  expect(further.received.map(({ id }) => id)).toEqual([first, first, second]);
  expect(main.received).toHaveLength(2);
  expect((await row(later)).status).toBe('delivered');
});

test('one that answers 410 is disabled alone', async ({
  receive,
  accountWithTwo,
}) => {
  const {
    store,
    accountId,
    webhookDispatcher,
    main,
    event,
    destinationId,
    ...of
  } = await accountWithTwo();
  await of.further.close();
  const gone = await receive(
    (_, response) => void response.writeHead(410).end(),
  );
  await store.asAccount(accountId, (tx) =>
    tx.db
      .updateTable('webhook_destination')
      .set({ url: gone.url })
      .where('id', '=', destinationId)
      .execute(),
  );
  webhookDispatcher.send(accountId, [await event()]);
  await webhookDispatcher.drain();
  webhookDispatcher.send(accountId, [await event()]);
  await webhookDispatcher.drain();
  expect([main.received.length, gone.received.length]).toEqual([2, 1]);
  const healths = await store.asAccount(accountId, (tx) =>
    tx.db
      .selectFrom('webhook_destination')
      .select('health')
      .orderBy('of_settings', 'desc')
      .execute(),
  );
  expect(healths.map(({ health }) => health)).toEqual(['healthy', 'disabled']);
});

test('while two keys are valid both sign; after that the new one alone', async ({
  accountWithTwo,
}) => {
  const {
    store,
    accountId,
    webhookDispatcher,
    further,
    destinationId,
    event,
    key,
  } = await accountWithTwo();
  const next = generateWebhookKey();
  const send = async () => {
    webhookDispatcher.send(accountId, [await event()]);
    await webhookDispatcher.drain();
    const one = further.received.at(-1);
    if (one === undefined) throw new Error('nothing came');
    return one;
  };
  const rotate = (previousUntil: Date) =>
    store.asAccount(accountId, (tx) =>
      rotateKey(tx, destinationId, { key: keys.seal(next), previousUntil }),
    );
  await rotate(new Date(Date.now() + 60_000));
  const both = await send();
  for (const each of [key, next]) expect(verified(each, both)).toBeDefined();
  expect(both.headers['x-metriport-signature']).toBe(
    createHmac('sha256', key).update(both.raw).digest('hex'),
  );
  await rotate(new Date());
  const after = await send();
  expect(verified(next, after)).toBeDefined();
  expect(() => verified(key, after)).toThrow();
});

test('a message that is sent again keeps its id, and one in hand is left in hand', async ({
  accountWithTwo,
}) => {
  const { store, accountId, webhookDispatcher, main, further, event } =
    await accountWithTwo();
  const messageId = await event();
  webhookDispatcher.send(accountId, [messageId]);
  await webhookDispatcher.drain();
  webhookDispatcher.resume(
    accountId,
    await store.asAccount(accountId, (tx) => reopenMessages(tx, [messageId])),
  );
  await webhookDispatcher.drain();
  for (const receiver of [main, further])
    expect(receiver.received.map(({ id }) => id)).toEqual([
      messageId,
      messageId,
    ]);
});

test('a destination that is deleted while an event is on its way to it takes that along; nothing fails', async ({
  accountWithTwo,
}) => {
  const { store, accountId, delivery, event, copyOf, destinationId } =
    await accountWithTwo();
  const copy = await copyOf(await event());
  const remove = () =>
    store.asAccount(accountId, (tx) =>
      tx.db
        .deleteFrom('webhook_destination')
        .where('id', '=', destinationId)
        .execute(),
    );
  await remove();
  expect(await delivery.attempt(accountId, copy)).toEqual({ state: 'closed' });
});

test('keys are stored encrypted, and one that is rotated signs until its time is over', async ({
  accountWithTwo,
}) => {
  const { store, accountId, webhookDispatcher, main, webhookKey, event } =
    await accountWithTwo();
  await store.asAccount(accountId, async (tx) =>
    rotateWebhookKey(tx, keys, await requireSettingsDestination(tx), 1),
  );
  const stored = await store.asAccount(accountId, (tx) =>
    tx.db
      .selectFrom('webhook_destination')
      .selectAll()
      .where('of_settings', '=', true)
      .executeTakeFirst(),
  );
  expect(stored?.previous_key).not.toContain(webhookKey);
  expect(keys.open(stored?.previous_key ?? '')).toBe(webhookKey);
  webhookDispatcher.send(accountId, [await event()]);
  await webhookDispatcher.drain();
  const [one] = main.received;
  if (one === undefined) throw new Error('nothing came');
  expect(verified(webhookKey, one)).toBeDefined();
});
