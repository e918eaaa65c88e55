import { Webhook } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SourceType } from '../../src/contract/primitives.ts';
import { callbackToken } from '../../src/exchange/queries/network-query/attempt-store.ts';
import { planOfCursor } from '../../src/exchange/sources/connectors/collect/plan.ts';
import { SourceFailure } from '../../src/exchange/sources/connectors/connector.ts';
import { CALLBACK_KEY } from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';
import { eventually } from './network-query-environment.ts';
import {
  busy,
  CALLBACK_SECRET,
  createTestExchange,
  type TestExchange,
} from './network-query-exchange.ts';

let exchange: TestExchange;
beforeAll(async () => {
  exchange = await createTestExchange();
});
afterAll(() => exchange.close());

const body = Buffer.from('{"status":"ready"}');
function signed(secret = CALLBACK_SECRET, at = new Date()) {
  const id = `msg-${uuidv7()}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body.toString()),
  };
}
const callBack = (
  requestId: string,
  {
    source = 'hie' as SourceType,
    attempt = 1,
    headers = signed() as Record<string, string>,
    raw = body,
  } = {},
) =>
  exchange.callbacks.handle(
    callbackToken(CALLBACK_KEY, requestId, source, attempt),
    headers,
    raw,
  );

const view = (requestId: string) =>
  exchange.view(exchange.accountId, requestId);
const told = async (requestId: string, kind: string) =>
  (await exchange.timeline(exchange.accountId, requestId)).filter(
    (entry) => entry.kind === kind,
  );
const untilAccepted = (requestId: string) =>
  eventually(async () => (await told(requestId, 'accepted')).length === 1);

/** A query whose source has taken the request; `finish` makes it ready. */
async function acceptedQuery(source: SourceType = 'hie') {
  let ready = false;
  const pages = sourceOf([page([observation('a')]), page([observation('b')])]);
  exchange.let(source, {
    ...busy,
    resume: pages.resume,
    poll: async (job) =>
      ready
        ? { kind: 'ready', pages: pages.pagesFrom(0) }
        : { kind: 'pending', job, retryAfterMs: 3_600_000 },
  });
  const requestId = await exchange.start([source]);
  await untilAccepted(requestId);
  return { requestId, finish: () => (ready = true) };
}

test('a source that takes its time is looked at by the retries of one activity, and its answer is collected once', async () => {
  const pages = sourceOf([page([observation('slow')])]);
  let polls = 0;
  exchange.let('lab', {
    begin: async () => ({
      kind: 'accepted',
      job: { url: 'job-1' },
      retryAfterMs: 1_000,
    }),
    poll: async (job) => {
      polls += 1;
      return polls < 4
        ? { kind: 'pending', job, retryAfterMs: 1_000 }
        : { kind: 'ready', pages: pages.pagesFrom(0) };
    },
  });
  const requestId = await exchange.start(['lab']);
  await expect
    .poll(async () => (await view(requestId)).status)
    .toBe('completed');
  const { resources, events } = await exchange.outcome(
    exchange.accountId,
    requestId,
  );
  expect(resources.map(({ source_id }) => source_id)).toContain('slow');
  expect(events).toHaveLength(1);
  // Three polls without an answer, one with it, and one to collect it.
  expect(polls).toBe(5);
  const { events: history } = await exchange.handle(requestId).fetchHistory();
  const scheduled = (history ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes: made }) =>
      made?.activityType?.name ?? [],
  );
  expect(scheduled).toEqual([
    'askSource',
    'collectSource',
    'awaitSource',
    'collectSource',
  ]);
});

describe('a source that calls back', () => {
  test('has its answer fetched at once, and its call told once, however often it calls', async () => {
    const { requestId, finish } = await acceptedQuery();
    finish();
    const headers = signed();
    const answers = await Promise.all(
      [1, 2, 3].map(() => callBack(requestId, { headers })),
    );
    expect(answers).toEqual(Array(3).fill({ status: 200 }));
    await eventually(
      async () => (await view(requestId)).status === 'completed',
    );
    expect(await told(requestId, 'callback')).toHaveLength(1);
    expect(await view(requestId)).toMatchObject({
      attempts: [{ resources: 2 }],
    });
  });

  test('before it is ready is asked, and asked again when it calls again', async () => {
    const { requestId, finish } = await acceptedQuery();
    expect(await callBack(requestId)).toEqual({ status: 200 });
    await eventually(async () => {
      const { events } = await exchange.handle(requestId).fetchHistory();
      return (events ?? []).some(
        ({ activityTaskScheduledEventAttributes: scheduled }) =>
          scheduled?.activityType?.name === 'collectSource',
      );
    });
    expect(await view(requestId)).toMatchObject({ status: 'running' });
    finish();
    await callBack(requestId);
    await eventually(
      async () => (await view(requestId)).status === 'completed',
    );
  });

  test('is taken for its own attempt only', async () => {
    const { requestId } = await acceptedQuery();
    expect(await callBack(requestId, { attempt: 2 })).toEqual({ status: 404 });
    expect(await callBack(requestId, { source: 'lab' })).toEqual({
      status: 404,
    });
    expect(await exchange.callbacks.handle('guessed', signed(), body)).toEqual({
      status: 404,
    });
    expect(await told(requestId, 'callback')).toEqual([]);
    await exchange.service.cancelQuery(exchange.accountId, requestId);
  });

  test.each([
    ['without a signature', { headers: {} }],
    [
      'signed by another',
      { headers: signed('whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA') },
    ],
    [
      'with another body than was signed',
      { raw: Buffer.from('{"status":"failed"}') },
    ],
    [
      'signed long ago',
      { headers: signed(CALLBACK_SECRET, new Date(Date.now() - 3_600_000)) },
    ],
  ])('%s is refused and changes nothing', async (_, forged) => {
    const { requestId, finish } = await acceptedQuery();
    finish();
    expect(await callBack(requestId, forged)).toEqual({ status: 401 });
    expect(await told(requestId, 'callback')).toEqual([]);
    expect(await view(requestId)).toMatchObject({ status: 'running' });
    await exchange.service.cancelQuery(exchange.accountId, requestId);
  });

  test('that has no key to sign with is refused', async () => {
    const { requestId } = await acceptedQuery('pharmacy');
    expect(await callBack(requestId, { source: 'pharmacy' })).toEqual({
      status: 401,
    });
    await exchange.service.cancelQuery(exchange.accountId, requestId);
  });

  test('after its attempt has ended is thanked, and nothing comes of it', async () => {
    const { requestId } = await acceptedQuery();
    await exchange.service.giveUpSource(exchange.accountId, requestId, 'hie');
    const before = await exchange.outcome(exchange.accountId, requestId);
    expect(await callBack(requestId)).toEqual({ status: 200 });
    expect(await exchange.outcome(exchange.accountId, requestId)).toEqual(
      before,
    );
  });
});

test('a step whose position a newer build stored waits for a worker of that build', async () => {
  const pages = sourceOf([page([observation('a')]), page([observation('b')])]);
  let isNewerBuild = false;
  let refused = 0;
  exchange.let('hie', {
    begin: async () => ({ kind: 'ready', pages: breakingOff() }),
    resume(cursor, signal) {
      if (isNewerBuild) return pages.resume(cursor, signal);
      refused += 1;
      planOfCursor({
        version: 1,
        steps: [{ kind: 'a step of a later build' }],
      });
      throw new Error('an older build knows this step');
    },
  });
  async function* breakingOff() {
    for await (const first of pages.pagesFrom(0)) {
      yield first;
      throw new SourceFailure('transport', 'hie broke off');
    }
  }
  const requestId = await exchange.start(['hie']);
  await eventually(() => refused > 0);
  isNewerBuild = true;
  await eventually(async () => (await view(requestId)).status === 'completed');
  expect(await view(requestId)).toMatchObject({
    attempts: [{ resources: 2, attempt: 1 }],
  });
});
