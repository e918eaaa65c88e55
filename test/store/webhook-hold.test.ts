import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect, vi } from 'vitest';
import { createWebhookActivities } from '../../src/activities/exchange/webhook-delivery.ts';
import { reopenUndelivered } from '../../src/exchange/messaging/webhooks/replay-store.ts';
import {
  findDestination,
  setDestination,
} from '../../src/exchange/messaging/webhooks/settings-store.ts';
import { HELD_EVENT_MAX_MS } from '../../src/exchange/platform/outbox/rules/delivery-schedule.ts';
import {
  addEvent,
  createDeliveries,
  eventRow,
} from '../support/events-environment.ts';
import { eventsTest } from '../support/events-fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { sealedWebhookKey } from '../support/test-keys.ts';

const MINUTE_MS = 60_000;

/**
 * An account whose receiver answers 500 to the events in `failing`, or to all
 * of them while `isDown`.
 */
const test = eventsTest
  .extend(
    'addWebhook',
    { scope: 'file' },
    ({ environment, temporal, receive }) =>
      async () => {
        const { store } = environment;
        const state = {
          isDown: false,
          failing: new Set<string>(),
          /**
           * Events that are answered, with 500, when `answerSlow` is called.
           */
          slow: new Set<string>(),
          answerSlow: (): void => undefined,
        };
        const slowAnswered = new Promise<void>((resolve) => {
          state.answerSlow = resolve;
        });
        const receiver = await receive(async ({ id }, response) => {
          if (state.slow.has(id)) await slowAnswered;
          response
            .writeHead(state.isDown || state.failing.has(id) ? 500 : 200)
            .end();
        });
        const { accountId } = await environment.addAccount({}, receiver.url);
        const deliveries = createDeliveries(store, temporal);
        const { deliverDue } = createWebhookActivities({
          store,
          delivery: deliveries.delivery,
        });
        const destination = async () => {
          const row = await store.asAccount(accountId, (tx) =>
            tx.db
              .selectFrom('webhook_destination')
              .selectAll()
              .executeTakeFirstOrThrow(),
          );
          return { ...row, isHeld: row.held_until !== null };
        };
        const destinationId = (await destination()).id;
        const change = (values: {
          held_since?: Date;
          held_until?: Date;
          looks_at?: Date;
        }) =>
          store.asAccount(accountId, (tx) =>
            tx.db.updateTable('webhook_destination').set(values).execute(),
          );
        return {
          ...deliveries,
          store,
          accountId,
          destinationId,
          receiver,
          state,
          destination,
          change,
          /** Lets a probe be sent now. */
          letProbe: () => change({ held_until: new Date(Date.now() - 1_000) }),
          event: (patientId: string = uuidv7()) =>
            addEvent(store, accountId, patientId),
          row: (id: string) => eventRow(store, accountId, id),
          look: (dueNow = false) =>
            runActivity(deliverDue, { accountId, destinationId, dueNow }),
          async send(ids: string[]) {
            deliveries.webhookDispatcher.send(accountId, ids);
            await deliveries.webhookDispatcher.drain();
          },
          /** Writes events and holds the destination by their failures. */
          async hold(): Promise<string[]> {
            state.isDown = true;
            const ids: string[] = [];
            for (let count = 0; count < 5; count++)
              ids.push(await addEvent(store, accountId, uuidv7()));
            for (const id of ids)
              await deliveries.delivery.attempt(accountId, id);
            return ids;
          },
        };
      },
  )
  .extend('webhook', ({ addWebhook }) => addWebhook());

describe('a destination', () => {
  test('is held after five different events have failed in a row, and then gets no first attempts', async ({
    webhook: { hold, destination, event, send, receiver, row },
  }) => {
    await hold();
    expect(await destination()).toMatchObject({
      isHeld: true,
      failures: 5,
      health: 'failing',
    });
    const later = await event();
    await send([later]);
    expect(receiver.received.map(({ id }) => id)).not.toContain(later);
    expect(await row(later)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('is not held by one event that always fails, nor by failures between successes', async ({
    webhook: { state, event, delivery, accountId, destination },
  }) => {
    const bad = await event();
    state.failing.add(bad);
    for (let attempt = 0; attempt < 8; attempt++)
      await delivery.attempt(accountId, bad);
    expect(await destination()).toMatchObject({ isHeld: false, failures: 1 });
    for (let count = 0; count < 6; count++) {
      const another = await event();
      state.failing.add(another);
      await delivery.attempt(accountId, another);
      await delivery.attempt(accountId, await event());
    }
    expect(await destination()).toMatchObject({
      isHeld: false,
      failures: 0,
      health: 'healthy',
    });
  });

  test('gets one probe at a time, of another event each time; probes are not counted as attempts', async ({
    webhook: { hold, letProbe, look, receiver, row, destination },
  }) => {
    const ids = await hold();
    const before = receiver.received.length;
    for (let probe = 1; probe <= 5; probe++) {
      await letProbe();
      const { look: next, sent } = await look();
      expect([sent, receiver.received.length - before]).toEqual([0, probe]);
      expect(next).toMatchObject({ state: 'waiting', held: true });
      expect(await destination()).toMatchObject({ failures: 5 + probe });
    }
    expect(
      new Set(receiver.received.slice(before).map(({ id }) => id)),
    ).toEqual(new Set(ids));
    for (const id of ids)
      expect(await row(id)).toMatchObject({ status: 'pending', attempts: 1 });
    expect(await look()).toMatchObject({ sent: 0 });
    expect(receiver.received).toHaveLength(before + 5);
  });

  test('gets no probe within 5 s of an attempt that was in progress when it was held', async ({
    webhook: {
      store,
      hold,
      event,
      delivery,
      accountId,
      receiver,
      state,
      destination,
      letProbe,
      look,
    },
  }) => {
    const slow = [await event(), await event()];
    state.slow = new Set(slow);
    const attempts = slow.map((id) => delivery.attempt(accountId, id));
    await expect
      .poll(() => receiver.received.length, { timeout: 240_000 })
      .toBe(2);
    await hold();
    const heldFirst = (await destination()).held_until?.getTime() ?? 0;
    await store.asAccount(accountId, (tx) =>
      sql`select pg_sleep(0.5)`.execute(tx.db),
    );
    state.answerSlow();
    await Promise.all(attempts);

    const heldUntil = (await destination()).held_until?.getTime() ?? 0;
    expect(heldUntil).toBeGreaterThan(heldFirst);
    const { rows } = await store.asAccount(accountId, (tx) =>
      sql<{
        ended: Date;
      }>`select max(at) as ended from event_attempt group by event_id`.execute(
        tx.db,
      ),
    );
    expect(rows).toHaveLength(7);
    for (const { ended } of rows)
      expect(heldUntil - ended.getTime()).toBeGreaterThanOrEqual(5_000);

    // The event that was sent first, and failed last, is the one that is sent
    // next.
    await letProbe();
    await look();
    expect(slow).toContain(receiver.received.at(-1)?.id);
    expect(await destination()).toMatchObject({ isHeld: true, failures: 6 });
  });

  test('is timed by PostgreSQL: a process whose clock is ahead or behind neither delays nor hurries an attempt', async ({
    webhook: {
      store,
      event,
      hold,
      destination,
      row,
      delivery,
      accountId,
      look,
      state,
    },
  }) => {
    state.isDown = true;
    const databaseNow = async () => {
      const { rows } = await store.asSystem((tx) =>
        sql<{ now: Date }>`select clock_timestamp() as now`.execute(tx.db),
      );
      return rows[0]?.now.getTime() ?? 0;
    };
    const before = await databaseNow();
    vi.useFakeTimers({
      toFake: ['Date'],
      now: Date.now() + 10 * MINUTE_MS,
      shouldAdvanceTime: true,
    });
    try {
      const failed = await event();
      await delivery.attempt(accountId, failed);
      const nextAt = (await row(failed)).next_attempt_at?.getTime() ?? 0;
      expect(nextAt - before).toBeGreaterThanOrEqual(5_000);
      expect(nextAt - (await databaseNow())).toBeLessThanOrEqual(5_500);
      await hold();
      expect((await destination()).held_until?.getTime()).toBeLessThanOrEqual(
        (await databaseNow()) + 5_500,
      );
      // The pause is not over because one process thinks so.
      expect(await look()).toMatchObject({
        sent: 0,
        look: { state: 'waiting', held: true },
      });
      expect(await destination()).toMatchObject({ failures: 5 });
    } finally {
      vi.useRealTimers();
    }
  });

  test('that answers a probe after an outage gets everything at once, oldest first', async ({
    webhook: {
      hold,
      letProbe,
      look,
      state,
      event,
      receiver,
      change,
      destination,
    },
  }) => {
    const ids = [...(await hold()), await event(), await event()];
    await change({ held_since: new Date(Date.now() - 6 * MINUTE_MS) });
    await letProbe();
    state.isDown = false;
    const before = receiver.received.length;
    expect(await look()).toMatchObject({
      look: { state: 'empty' },
      sent: ids.length,
    });
    const [probe, ...others] = receiver.received
      .slice(before)
      .map(({ id }) => id);
    // The probe is the first event that was never sent.
    expect(probe).toBe(ids[5]);
    expect(others).toEqual(ids.filter((id) => id !== probe));
    expect(await destination()).toMatchObject({
      isHeld: false,
      failures: 0,
      looks_at: null,
    });
  });

  test('that answers after a short hold gets what was held; failed events keep their own time', async ({
    webhook: { hold, letProbe, look, state, event, row, delivery, accountId },
  }) => {
    const [first = ''] = await hold();
    state.isDown = false;
    const held = await event();
    await letProbe();
    expect(await look()).toMatchObject({
      look: { state: 'waiting', held: false },
      sent: 1,
    });
    expect((await row(held)).status).toBe('delivered');
    expect((await row(first)).status).toBe('pending');
    // Its own attempt is possible at any time, for example on request.
    expect(await delivery.attempt(accountId, first)).toMatchObject({
      state: 'delivered',
    });
  });

  test('that stays down dead-letters what has waited for three days, and nothing younger', async ({
    webhook: { store, hold, letProbe, look, row, accountId },
  }) => {
    const [old = '', ...others] = await hold();
    await store.asAccount(accountId, (tx) =>
      tx.db
        .updateTable('event')
        .set({
          opened_at: new Date(Date.now() - HELD_EVENT_MAX_MS - MINUTE_MS),
        })
        .where('id', '=', old)
        .execute(),
    );
    await letProbe();
    await look();
    expect((await row(old)).status).toBe('dead');
    for (const id of others) expect((await row(id)).status).toBe('pending');
  });

  test('that is set again, or whose events are resent, is not held any more', async ({
    addWebhook,
  }) => {
    for (const release of ['set', 'resend'] as const) {
      const { store, hold, accountId, receiver, destination, row } =
        await addWebhook();
      const [first = ''] = await hold();
      await store.asAccount(accountId, async (tx) => {
        if (release === 'set')
          await setDestination(tx, {
            id: uuidv7(),
            url: receiver.url,
            key: sealedWebhookKey(),
          });
        else await reopenUndelivered(tx);
      });
      expect(await destination()).toMatchObject({ isHeld: false, failures: 0 });
      if (release === 'resend')
        expect((await row(first)).next_attempt_at).toBeNull();
    }
  });
});

describe('the workflow of a destination', () => {
  test('sends a patient’s events one after the other, however fast it catches up', async ({
    environment,
    temporal,
    receive,
  }) => {
    const { store } = environment;
    let inProgress = 0;
    let most = 0;
    const receiver = await receive((_, response) => {
      inProgress += 1;
      most = Math.max(most, inProgress);
      setTimeout(() => {
        inProgress -= 1;
        response.end();
      }, 20);
    });
    const { accountId } = await environment.addAccount({}, receiver.url);
    const destinationId =
      (await store.asAccount(accountId, findDestination))?.id ?? '';
    const { deliverDue } = createWebhookActivities({
      store,
      ...createDeliveries(store, temporal),
    });
    const patientId = uuidv7();
    const ids: string[] = [];
    for (let count = 0; count < 8; count++)
      ids.push(await addEvent(store, accountId, patientId));
    let sent = 0;
    while (sent < ids.length)
      sent += (
        await runActivity(deliverDue, {
          accountId,
          destinationId,
          dueNow: false,
        })
      ).sent;
    expect(receiver.received.map(({ id }) => id)).toEqual(ids);
    expect(most).toBe(1);
  });

  test('is asked to look when an event fails before it looks anyway', async ({
    webhook: { event, delivery, accountId, change, state },
  }) => {
    state.isDown = true;
    expect(await delivery.attempt(accountId, await event())).toMatchObject({
      needsLook: true,
    });
    await change({ looks_at: new Date() });
    expect(await delivery.attempt(accountId, await event())).toMatchObject({
      needsLook: false,
    });
    await change({ looks_at: new Date(Date.now() + 60 * MINUTE_MS) });
    expect(await delivery.attempt(accountId, await event())).toMatchObject({
      needsLook: true,
    });
    await change({ looks_at: new Date(Date.now() - 3 * MINUTE_MS) });
    expect(await delivery.attempt(accountId, await event())).toMatchObject({
      needsLook: true,
    });
  });

  test('is asked to look, so that it ends, when the last open event was delivered without it', async ({
    webhook: { event, delivery, accountId, change },
  }) => {
    const first = await event();
    const second = await event();
    await change({ looks_at: new Date(Date.now() + MINUTE_MS) });
    expect(await delivery.attempt(accountId, first)).toMatchObject({
      state: 'delivered',
      needsLook: false,
    });
    expect(await delivery.attempt(accountId, second)).toMatchObject({
      state: 'delivered',
      needsLook: true,
    });
  });

  test('of a destination without an address, or a deleted one, ends', async ({
    webhook: { store, event, look, accountId, state },
  }) => {
    state.isDown = true;
    await event();
    await store.asAccount(accountId, (tx) =>
      setDestination(tx, { id: uuidv7(), url: null, key: sealedWebhookKey() }),
    );
    expect(await store.asAccount(accountId, findDestination)).toMatchObject({
      url: null,
    });
    expect(await look()).toMatchObject({ look: { state: 'empty' } });
    await store.asAccount(accountId, (tx) =>
      tx.db.updateTable('event').set({ destination_id: null }).execute(),
    );
    await store.asAccount(accountId, (tx) =>
      tx.db.deleteFrom('webhook_destination').execute(),
    );
    expect(await look()).toMatchObject({ look: { state: 'empty' } });
  });
});
