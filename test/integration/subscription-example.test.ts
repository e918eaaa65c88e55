import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createSubscriptionDoor,
  type SubscriptionDoor,
} from '../support/subscriptions.ts';

let door: SubscriptionDoor;
let example: ChildProcess | undefined;
beforeAll(async () => {
  door = await createSubscriptionDoor();
});
afterAll(async () => {
  example?.kill('SIGKILL');
  await door?.close();
});

test('the example subscribes, prints each event that passes its filter, asks for what it missed, and leaves nothing behind', async () => {
  await door.gateway.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = door.gateway.app.server.address() as AddressInfo;
  const BASE = `http://127.0.0.1:${port}/fhir/R4`;
  const KEY = await door.addKey(door.accountId, ['read', 'write']);
  const filter = 'Observation?category=laboratory';
  const started = spawn(
    process.execPath,
    ['examples/subscription/receive.mjs', filter],
    {
      env: { ...process.env, BASE, KEY },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  example = started;
  const lines = createInterface(started.stdout)[Symbol.asyncIterator]();
  const until = async (wanted: RegExp): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error('the example has ended');
      if (wanted.test(value)) return value;
    }
  };
  await until(/^subscription [\w-]+$/);
  await door.webhookDispatcher.drain();
  const patientId = await door.addPerson();
  await door.deliverObservation(patientId, { category: 'survey' });
  await door.deliverObservation(patientId, { code: '2345-7' });
  expect(await until(/^event \d/)).toMatch(
    /^event 1: .*\/fhir\/R4\/Observation\/[\w-]+$/,
  );
  // A notification that is lost on its way: the example asks for its number
  // when the next one comes.
  await door.store.asAccount(door.accountId, (tx) =>
    tx.db.updateTable('fhir_subscription').set({ events: 2 }).execute(),
  );
  await door.deliverObservation(patientId, { code: '2160-0' });
  expect(await until(/^event 3/)).toContain('Observation/');
  expect(await until(/^event \d/)).toBe('event 2: may no longer be seen');
  started.kill('SIGTERM');
  expect(await once(started, 'exit')).toEqual([0, null]);
  expect((await door.call('GET', 'Subscription')).json().total).toBe(0);
});
