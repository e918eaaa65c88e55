import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect } from 'vitest';
import { networkQueryEventSchema } from '../../src/contract/events.ts';
import { webhookDestinationWorkflowId } from '../../src/contract/temporal.ts';
import { reopenUndelivered } from '../../src/exchange/messaging/webhooks/replay-store.ts';
import {
  findDestination,
  setDestination,
} from '../../src/exchange/messaging/webhooks/settings-store.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { claimEvents } from '../../src/exchange/platform/outbox/claim-store.ts';
import {
  afterDelivery,
  recordDelivered,
} from '../../src/exchange/platform/outbox/delivery.ts';
import { eventRecovery } from '../../src/exchange/platform/outbox/destination-drain.ts';
import {
  addEvent,
  attemptRows,
  createDeliveries,
  eventRow,
  hasWorkflow,
  type startReceiver,
} from '../support/events-environment.ts';
import { eventsTest } from '../support/events-fixtures.ts';
import { closedGate } from '../support/gate.ts';
import { takeUp } from '../support/take-up.ts';
import { sealedWebhookKey } from '../support/test-keys.ts';

const test = eventsTest.extend(
  'accountWith',
  { scope: 'file' },
  ({ environment, temporal, receive }) => {
    /** An account whose webhooks go to a receiver that answers so. */
    async function accountWith(
      answer?: Parameters<typeof startReceiver>[0],
      options: Parameters<typeof createDeliveries>[2] = {},
    ) {
      const { store } = environment;
      const receiver = await receive(answer);
      const account = await environment.addAccount({}, receiver.url);
      const deliveries = createDeliveries(store, temporal, options);
      const event = (patientId: string = uuidv7()) =>
        addEvent(store, account.accountId, patientId);
      const destination = () =>
        store.asAccount(account.accountId, findDestination);
      return {
        ...account,
        ...deliveries,
        store,
        receiver,
        event,
        row: (id: string) => eventRow(store, account.accountId, id),
        attempts: (id: string) => attemptRows(store, account.accountId, id),
        destination,
        hasWorkflow: async () =>
          hasWorkflow(
            temporal,
            account.accountId,
            (await destination())?.id ?? '',
          ),
      };
    }
    return accountWith;
  },
);
const status = (code: number, headers: Record<string, string> = {}) =>
  ((_, response) =>
    void response.writeHead(code, headers).end()) as NonNullable<
    Parameters<typeof startReceiver>[0]
  >;

describe('the webhookDispatcher', () => {
  test('brings a committed event out at once, signed, at no cost to Temporal', async ({
    accountWith,
  }) => {
    const { accountId, webhookKey, webhookDispatcher, receiver, ...of } =
      await accountWith();
    const patientId = uuidv7();
    const id = await of.event(patientId);
    webhookDispatcher.send(accountId, [id]);
    await webhookDispatcher.drain();

    const [received] = receiver.received;
    if (received === undefined) throw new Error('nothing was received');
    const { headers, raw } = received;
    const verified = new Webhook(webhookKey).verify(
      raw,
      headers as Record<string, string>,
    );
    const body = networkQueryEventSchema.parse(verified);
    expect(body.meta).toMatchObject({ messageId: id, data: { jobId: 'ä€' } });
    expect(body.payload.consolidatedDataUrl).toBe(
      `https://exchange.example.org/links/${patientId}`,
    );
    const hex = createHmac('sha256', webhookKey)
      .update(Buffer.from(raw))
      .digest('hex');
    expect(headers['x-metriport-signature']).toBe(hex);
    expect(headers['webhook-id']).toBe(id);

    expect(await of.row(id)).toMatchObject({
      status: 'delivered',
      attempts: 1,
    });
    expect(await of.attempts(id)).toEqual([
      { attempt: 1, http_status: 200, outcome: '200' },
    ]);
    expect(await of.destination()).toMatchObject({ health: 'healthy' });
    expect(await of.hasWorkflow()).toBe(false);
  });

  test('brings events of one patient out in their order and without a workflow, given in any order', async ({
    accountWith,
  }) => {
    const { accountId, webhookDispatcher, receiver, ...of } = await accountWith(
      (_, response) => {
        setTimeout(() => response.end(), 20);
      },
    );
    const patientId = uuidv7();
    const ids = [];
    for (let count = 0; count < 8; count++) ids.push(await of.event(patientId));
    for (const id of ids.toReversed()) webhookDispatcher.send(accountId, [id]);
    await webhookDispatcher.drain();
    expect(receiver.received.map(({ id }) => id)).toEqual(ids);
    expect(await of.hasWorkflow()).toBe(false);
  });

  test('leaves none of a patient behind and doubles none, however webhookDispatchers of several processes meet', async ({
    temporal,
    accountWith,
  }) => {
    const { accountId, receiver, ...of } = await accountWith();
    const webhookDispatchers = [1, 2, 3].map(
      () => createDeliveries(of.store, temporal).webhookDispatcher,
    );
    const ids: string[] = [];
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const patientId = uuidv7();
        for (const webhookDispatcher of webhookDispatchers) {
          const id = await of.event(patientId);
          ids.push(id);
          webhookDispatcher.send(accountId, [id]);
        }
      }),
    );
    // A chain may pass from one webhook dispatcher to the next.
    for (let round = 0; round < 3; round++)
      await Promise.all(
        webhookDispatchers.map((webhookDispatcher) =>
          webhookDispatcher.drain(),
        ),
      );
    expect(receiver.received.map(({ id }) => id).sort()).toEqual(ids.sort());
    for (const id of ids)
      expect(await of.row(id)).toMatchObject({
        status: 'delivered',
        attempts: 1,
      });
  });

  test('goes on with an event that is committed just while the earlier one’s end is written', async ({
    environment,
    accountWith,
  }) => {
    const { accountId, event, delivery } = await accountWith();
    const { store } = environment;
    const patientId = uuidv7();
    const eventId = await event(patientId);
    const [first] = await store.asSystem((tx) =>
      claimEvents(tx, [{ accountId, eventId }]),
    );
    expect(first?.kind).toBe('claimed');
    let later = '';
    await store.asSystem(async (tx) => {
      const sent = [{ eventId, httpStatus: 200, note: '200' }];
      expect(await recordDelivered(tx, sent)).toEqual(new Set([eventId]));
      expect(await afterDelivery(tx, [{ id: eventId }])).toEqual([
        { needsLook: false },
      ]);
      later = await event(patientId);
      // The earlier one's end is not committed, and is not waited for.
      expect(await delivery.attempt(accountId, later)).toMatchObject({
        state: 'blocked',
      });
    });
    expect(
      await store.asSystem((tx) => afterDelivery(tx, [{ id: eventId }])),
    ).toEqual([{ nextEventId: later, needsLook: false }]);
  });

  test('hands over once what it cannot deliver, with what the receiver asked for', async ({
    temporal,
    accountWith,
  }) => {
    const { accountId, webhookDispatcher, receiver, ...of } = await accountWith(
      status(503, { 'retry-after': '120' }),
    );
    const id = await of.event();
    webhookDispatcher.send(accountId, [id]);
    await webhookDispatcher.drain();
    expect(receiver.received).toHaveLength(1);
    expect(await of.hasWorkflow()).toBe(true);
    const { status: state, next_attempt_at: at } = await of.row(id);
    expect(state).toBe('pending');
    expect((at?.getTime() ?? 0) - Date.now()).toBeGreaterThan(110_000);
    expect(await of.attempts(id)).toMatchObject([
      { attempt: 1, http_status: 503, outcome: '503' },
    ]);
    expect(await of.destination()).toMatchObject({ health: 'failing' });
    const destinationId = (await of.destination())?.id ?? '';
    const workflow = temporal.workflow.getHandle(
      webhookDestinationWorkflowId(accountId, destinationId),
    );
    const { events } = await workflow.fetchHistory();
    const [payload] =
      events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ??
      [];
    expect(JSON.parse(Buffer.from(payload?.data ?? '').toString())).toEqual({
      accountId,
      destinationId,
    });
  });

  test('keeps a later event of the patient back while an earlier one fails; the others go out', async ({
    accountWith,
  }) => {
    const { accountId, webhookDispatcher, receiver, ...of } = await accountWith(
      ({ raw }, response) => {
        response.writeHead(raw.includes(troubled) ? 500 : 200).end();
      },
    );
    const troubled = uuidv7();
    const first = await of.event(troubled);
    const second = await of.event(troubled);
    const other = await of.event();
    webhookDispatcher.send(accountId, [first, second, other]);
    await webhookDispatcher.drain();
    expect(receiver.received.map(({ id }) => id).sort()).toEqual(
      [first, other].sort(),
    );
    expect(await of.row(second)).toMatchObject({
      status: 'pending',
      attempts: 0,
    });
  });

  test('follows no redirect', async ({ receive, accountWith }) => {
    const elsewhere = await receive();
    const { accountId, webhookDispatcher, ...of } = await accountWith(
      status(307, { location: elsewhere.url }),
    );
    const id = await of.event();
    webhookDispatcher.send(accountId, [id]);
    await webhookDispatcher.drain();
    expect(elsewhere.received).toEqual([]);
    expect(await of.attempts(id)).toMatchObject([
      { outcome: '307, redirects are not followed' },
    ]);
  });

  test('gives a slow receiver up', async ({ accountWith }) => {
    const { accountId, webhookDispatcher, ...of } = await accountWith(
      () => undefined,
      {
        responseTimeoutMs: 300,
      },
    );
    const id = await of.event();
    webhookDispatcher.send(accountId, [id]);
    await webhookDispatcher.drain();
    expect(await of.attempts(id)).toMatchObject([
      { http_status: null, outcome: 'no response within 0.3 s' },
    ]);
  });

  test('takes a success for one, though its body never ends', async ({
    accountWith,
  }) => {
    const { accountId, webhookDispatcher, ...of } = await accountWith(
      (_, response) => void response.writeHead(200).write('never'),
      { responseTimeoutMs: 500 },
    );
    const id = await of.event();
    webhookDispatcher.send(accountId, [id]);
    await webhookDispatcher.drain();
    expect(await of.row(id)).toMatchObject({ status: 'delivered' });
  });

  test.for<[string, (url: string) => string]>([
    ['this very machine', (url) => url],
    [
      'this very machine by a name',
      (url) => url.replace('127.0.0.1', 'localhost'),
    ],
    ['the metadata service', () => 'http://169.254.169.254/latest/'],
    ['a private network', () => 'https://10.0.0.7/'],
    ['a private network, written as IPv6', () => 'https://[::ffff:10.0.0.7]/'],
  ])(
    'sends nothing to %s unless that is allowed',
    async ([_, address], { accountWith }) => {
      const { accountId, webhookDispatcher, receiver, ...of } =
        await accountWith(undefined, {
          destinations: { allowLoopback: false },
        });
      await of.store.asAccount(accountId, (tx) =>
        setDestination(tx, {
          id: uuidv7(),
          url: address(receiver.url),
          key: sealedWebhookKey(),
        }),
      );
      const id = await of.event();
      webhookDispatcher.send(accountId, [id]);
      await webhookDispatcher.drain();
      expect(receiver.received).toEqual([]);
      const [attempt] = await of.attempts(id);
      expect(attempt?.outcome).toMatch(/^the destination must/);
      expect(attempt?.outcome).not.toMatch(/\d+\.\d+/);
    },
  );

  test('sends nothing for an account without a destination, nor after it was taken away', async ({
    accountWith,
  }) => {
    const { accountId, webhookDispatcher, receiver, ...of } =
      await accountWith();
    const before = await of.event();
    const take = (url: string | null) =>
      of.store.asAccount(accountId, (tx) =>
        setDestination(tx, { id: uuidv7(), url, key: sealedWebhookKey() }),
      );
    await take(null);
    const after = await of.event();
    webhookDispatcher.send(accountId, [before, after]);
    await webhookDispatcher.drain();
    expect(receiver.received).toEqual([]);
    expect(await of.row(before)).toMatchObject({
      status: 'pending',
      attempts: 0,
    });
    expect(await of.row(after)).toMatchObject({ status: 'unrouted' });
    await take(receiver.url);
    webhookDispatcher.send(
      accountId,
      await of.store.asAccount(accountId, reopenUndelivered),
    );
    await webhookDispatcher.drain();
    expect(receiver.received.map(({ id }) => id).sort()).toEqual(
      [before, after].sort(),
    );
  });
});

describe('an event that is delivered by a workflow', () => {
  test('after ten attempts is dead, and the next one of the patient goes out', async ({
    accountWith,
  }) => {
    let failing = true;
    const { accountId, delivery, webhookDispatcher, receiver, ...of } =
      await accountWith((_, response) => {
        response.writeHead(failing ? 500 : 200).end();
      });
    const patientId = uuidv7();
    const first = await of.event(patientId);
    const second = await of.event(patientId);
    for (let attempt = 1; attempt < 10; attempt++) {
      expect(await delivery.attempt(accountId, first)).toMatchObject({
        state: 'failed',
        attemptsMade: attempt,
      });
    }
    expect(await delivery.attempt(accountId, second)).toEqual({
      state: 'blocked',
      attemptsMade: 0,
    });
    const last = delivery.attempt(accountId, first).then((outcome) => {
      failing = false;
      return outcome;
    });
    expect(await last).toMatchObject({
      state: 'dead',
      note: '500',
      nextEventId: second,
    });
    expect(await of.row(first)).toMatchObject({ status: 'dead', attempts: 10 });

    // Sent anew, it starts its schedule again, under the same id; what was
    // tried before stays known.
    const open = await of.store.asAccount(accountId, reopenUndelivered);
    expect(open).toEqual([first, second]);
    webhookDispatcher.resume(accountId, open);
    await webhookDispatcher.drain();
    expect(receiver.received.slice(-2).map(({ id }) => id)).toEqual([
      first,
      second,
    ]);
    expect(await of.attempts(first)).toHaveLength(11);
    expect(await of.row(second)).toMatchObject({ status: 'delivered' });
  });

  test('to a receiver that is gone is dead, as is all that was open; nothing more goes there', async ({
    accountWith,
  }) => {
    const { accountId, webhookDispatcher, receiver, ...of } = await accountWith(
      status(410),
    );
    const patientId = uuidv7();
    const first = await of.event(patientId);
    const other = await of.event(patientId);
    webhookDispatcher.send(accountId, [first, other]);
    await webhookDispatcher.drain();
    const later = await of.event();
    webhookDispatcher.send(accountId, [later]);
    await webhookDispatcher.drain();
    expect(receiver.received.map(({ id }) => id)).toEqual([first]);
    const states = await Promise.all([first, other, later].map(of.row));
    expect(states.map((row) => row.status)).toEqual([
      'dead',
      'dead',
      'unrouted',
    ]);
    expect(await of.destination()).toMatchObject({ health: 'disabled' });
    expect(await of.hasWorkflow()).toBe(false);
  });

  test('whose row is locked while it is recorded delays no delivery of another account', async ({
    environment,
    accountWith,
  }) => {
    const answer = closedGate();
    let isGated = false;
    const held = await accountWith(async (_, response) => {
      if (isGated) await answer.passed;
      response.end();
    });
    const free = await accountWith();
    const { store } = environment;
    // The first delivery to a destination changes its health.
    await held.delivery.attempt(held.accountId, await held.event());
    isGated = true;
    const mine = await held.event();
    const other = await free.event();
    const sending = held.delivery.attempt(held.accountId, mine);
    await expect.poll(() => held.receiver.received).toHaveLength(2);
    await store.asSystem((tx) =>
      claimEvents(tx, [{ accountId: free.accountId, eventId: other }]),
    );
    await store.asAccount(held.accountId, async (tx) => {
      await tx.db
        .selectFrom('event')
        .select('id')
        .where('id', '=', mine)
        .forUpdate()
        .execute();
      const sent = [mine, other].map((eventId) => ({
        eventId,
        httpStatus: 200,
        note: '200',
      }));
      expect(
        await store.asSystem((system) => recordDelivered(system, sent)),
      ).toEqual(new Set([other]));
      answer.open();
      await delay(50);
    });
    // Recorded alone, because together with others its row was locked.
    expect(await sending).toMatchObject({ state: 'delivered' });
    expect(await held.row(mine)).toMatchObject({ status: 'delivered' });
    expect(await held.attempts(mine)).toHaveLength(1);
  });

  test('is sent for its own account only', async ({ accountWith }) => {
    const mine = await accountWith();
    const other = await accountWith();
    const id = await mine.event();
    expect(await other.delivery.attempt(other.accountId, id)).toEqual({
      state: 'closed',
    });
    other.webhookDispatcher.send(other.accountId, [id]);
    await other.webhookDispatcher.drain();
    expect([...mine.receiver.received, ...other.receiver.received]).toEqual([]);
    expect(await mine.row(id)).toMatchObject({
      status: 'pending',
      attempts: 0,
    });
  });

  test('is claimed once, although it is named twice at a time', async ({
    accountWith,
  }) => {
    const { accountId, delivery, receiver, event } = await accountWith();
    const id = await event();
    const attempts = await Promise.all([
      delivery.attempt(accountId, id),
      delivery.attempt(accountId, id),
    ]);
    expect(attempts.map(({ state }) => state).sort()).toEqual([
      'blocked',
      'delivered',
    ]);
    expect(receiver.received).toHaveLength(1);
  });

  test('is not sent by a second one while the first is at it', async ({
    accountWith,
  }) => {
    let answer = () => undefined as unknown;
    const { accountId, delivery, receiver, ...of } = await accountWith(
      (_, response) => {
        answer = () => response.end();
      },
    );
    const id = await of.event();
    const first = delivery.attempt(accountId, id);
    while (receiver.received.length === 0) await delay(10);
    expect(await delivery.attempt(accountId, id)).toEqual({
      state: 'blocked',
      attemptsMade: 1,
    });
    answer();
    expect(await first).toMatchObject({
      state: 'delivered',
      nextEventId: undefined,
    });
    expect(await delivery.attempt(accountId, id)).toEqual({ state: 'closed' });
  });
});

describe('reconcile', () => {
  const round = (
    store: Store,
    webhookDispatcher: Parameters<typeof eventRecovery>[0]['webhookDispatcher'],
  ) => takeUp(eventRecovery({ store, webhookDispatcher }));
  const age = (store: Store, accountId: string) =>
    store.asAccount(accountId, (tx) =>
      tx.db
        .updateTable('event')
        .set({ opened_at: new Date(Date.now() - 60_000) })
        .execute(),
    );

  test('hands over what a crash kept from its webhookDispatcher; what is fresh it leaves alone', async ({
    accountWith,
  }) => {
    const crashed = await accountWith();
    const sound = await accountWith();
    await crashed.event();
    await age(crashed.store, crashed.accountId);
    await sound.event();
    await round(crashed.store, crashed.webhookDispatcher);
    expect([await crashed.hasWorkflow(), await sound.hasWorkflow()]).toEqual([
      true,
      false,
    ]);
  });

  test('leaves what waits for its next attempt, for an earlier event of the patient, or for a held destination', async ({
    accountWith,
  }) => {
    const { accountId, webhookDispatcher, ...of } = await accountWith();
    const patientId = uuidv7();
    const first = await of.event(patientId);
    await of.event(patientId);
    await age(of.store, accountId);
    const set = (nextAttemptAt: Date | null, heldUntil: Date | null) =>
      of.store.asAccount(accountId, async (tx) => {
        await tx.db
          .updateTable('webhook_destination')
          .set({ held_until: heldUntil })
          .execute();
        await tx.db
          .updateTable('event')
          .set({ next_attempt_at: nextAttemptAt })
          .where('id', '=', first)
          .execute();
      });
    const later = new Date(Date.now() + 60_000);
    await set(later, null);
    await round(of.store, webhookDispatcher);
    await set(null, later);
    await round(of.store, webhookDispatcher);
    expect(await of.hasWorkflow()).toBe(false);
    await set(null, null);
    await round(of.store, webhookDispatcher);
    expect(await of.hasWorkflow()).toBe(true);
  });

  test('leaves what has no address to go to, until there is one', async ({
    accountWith,
  }) => {
    const { accountId, webhookDispatcher, receiver, ...of } =
      await accountWith();
    await of.event();
    await age(of.store, accountId);
    const set = (url: string | null) =>
      of.store.asAccount(accountId, (tx) =>
        setDestination(tx, { id: uuidv7(), url, key: sealedWebhookKey() }),
      );
    await set(null);
    await round(of.store, webhookDispatcher);
    expect(await of.hasWorkflow()).toBe(false);
    await set(receiver.url);
    await round(of.store, webhookDispatcher);
    expect(await of.hasWorkflow()).toBe(true);
  });

  test('passes over a destination that cannot be handed over, takes the next, and shows the failure', async ({
    environment,
    accountWith,
  }) => {
    const broken = await accountWith();
    const sound = await accountWith();
    for (const { event, accountId } of [broken, sound]) {
      await event();
      await age(environment.store, accountId);
    }
    const handOver: typeof broken.webhookDispatcher.handOver = async (
      account,
      destinationId,
    ) => {
      if (account === broken.accountId) throw new Error('not this one');
      return sound.webhookDispatcher.handOver(account, destinationId);
    };
    await expect(
      round(sound.store, { ...sound.webhookDispatcher, handOver }),
    ).rejects.toThrow('not this one');
    expect(await sound.hasWorkflow()).toBe(true);
  });
});
