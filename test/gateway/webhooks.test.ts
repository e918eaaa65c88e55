import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { WEBHOOK_EVENT_TYPES } from '../../src/contract/webhooks.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import {
  createTestGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

const UNKNOWN = '0198a000-0000-7000-8000-000000000000';
const HOOKS = 'https://hooks.example.org';

let gateway: TestGateway;
let account: TestAccount;
let other: TestAccount;
/**
 * Rows of the outbox that were to be sent, and destinations that were pinged.
 */
const sent: string[] = [];
const pinged: (string | undefined)[] = [];
beforeAll(async () => {
  const note = (_account: string, ids: readonly string[]) =>
    void sent.push(...ids);
  gateway = await createTestGateway({
    webhookDispatcher: { resume: note },
    destinationPing: { ping: (_account, id) => void pinged.push(id) },
  });
  other = await gateway.addAccount();
});
beforeEach(async () => {
  account = await gateway.addAccount();
  sent.length = 0;
  pinged.length = 0;
});
afterAll(() => gateway.close());

const create = async (
  types: unknown,
  url: unknown = `${HOOKS}/a`,
  owner = account,
) => owner.call('POST', 'webhook', { url, types });
const tell = (
  type: string,
  {
    occurredAt = new Date(),
    patientId,
  }: { occurredAt?: Date; patientId?: string } = {},
) =>
  gateway.store.asAccount(account.accountId, async (tx) => {
    const id = await insertEvent(tx, {
      type,
      factKey: uuidv7(),
      patientId,
      occurredAt,
      body: { meta: {} },
    });
    if (id === undefined) throw new Error('told before');
    return id;
  });
/** Destinations that the rows of a message go to. */
const routesOf = (messageId: string) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    tx.db
      .selectFrom('event')
      .select(['id', 'destination_id', 'status', 'attempts'])
      .where(({ eb, or }) =>
        or([eb('id', '=', messageId), eb('copy_of', '=', messageId)]),
      )
      .orderBy('seq')
      .execute(),
  );
const setStatus = (id: string, status: 'dead' | 'delivered') =>
  gateway.store.asAccount(account.accountId, (tx) =>
    tx.db
      .updateTable('event')
      .set({ status, attempts: 10 })
      .where('id', '=', id)
      .execute(),
  );

describe('a further destination', () => {
  test('is created with a key of its own, pinged, listed, changed and deleted', async () => {
    const made = await create([
      'patient.admit',
      'network-query.*',
      'patient.admit',
    ]);
    expect(made.statusCode).toBe(200);
    const webhook = made.json();
    expect(webhook).toEqual({
      id: expect.any(String),
      url: `${HOOKS}/a`,
      types: ['patient.admit', 'network-query.*'],
      webhookKey: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      enabled: true,
      status: 'unknown',
      lastStatusAt: null,
      pending: 0,
      deadLettered: 0,
      createdAt: expect.any(String),
    });
    const url = `webhook/${webhook.id}`;
    expect((await account.call('GET', url)).json()).toEqual(webhook);
    const second = (await create(['*'])).json();
    expect(second.webhookKey).not.toBe(webhook.webhookKey);
    expect((await account.call('GET', 'webhook')).json()).toEqual({
      webhooks: [webhook, second],
    });

    const changed = await account.call('PATCH', url, { types: ['patient.*'] });
    expect([changed.statusCode, changed.json()]).toEqual([
      200,
      { ...webhook, types: ['patient.*'] },
    ]);
    expect(
      (await account.call('PATCH', url, { url: `${HOOKS}/b` })).json().url,
    ).toBe(`${HOOKS}/b`);
    expect(pinged).toEqual([webhook.id, second.id, webhook.id]);

    const gone = await account.call('DELETE', url);
    expect([gone.statusCode, gone.body]).toEqual([204, '']);
    expect((await account.call('GET', 'webhook')).json()).toEqual({
      webhooks: [second],
    });
  });

  test.each([
    [
      ['patient.birth'],
      `${HOOKS}/a`,
      'types[0]',
      /^"patient.birth" is neither an event type nor .*types are .*patient.admit/,
    ],
    [['birth.*'], `${HOOKS}/a`, 'types[0]', /neither an event type/],
    [['*.admit'], `${HOOKS}/a`, 'types[0]', /neither an event type/],
    [
      [],
      `${HOOKS}/a`,
      'types',
      /^at least one type is required; use "\*" for all events$/,
    ],
    [
      undefined,
      `${HOOKS}/a`,
      'types',
      /^types is required and must be a list of event types$/,
    ],
    [
      ['*'],
      'ftp://hooks.example.org',
      'url',
      /^url must be an http or https URL$/,
    ],
    [
      ['*'],
      'https://10.0.0.7/',
      'url',
      /^must not be an address in a private network$/,
    ],
    [['*'], 'http://hooks.example.org/', 'url', /^must be an https URL$/],
  ])(
    'with the types %j at %s is refused',
    async (types, url, path, message) => {
      const answer = await create(types, url);
      expect(answer.statusCode).toBe(400);
      expect(answer.json().errors).toEqual([
        { path, message: expect.stringMatching(message) },
      ]);
      const { id } = (await create(['*'])).json();
      const change = await account.call('PATCH', `webhook/${id}`, {
        url,
        types: types ?? [],
      });
      expect(change.statusCode).toBe(400);
    },
  );

  test('is refused above twenty, and a change that changes nothing is too', async () => {
    for (let count = 0; count < 20; count++)
      expect((await create(['*'])).statusCode).toBe(200);
    const answer = await create(['*']);
    expect([answer.statusCode, answer.json().detail]).toEqual([
      400,
      'the account already has the maximum of 20 further destinations; delete one first',
    ]);
    const { id } = (await account.call('GET', 'webhook')).json().webhooks[0];
    const empty = await account.call('PATCH', `webhook/${id}`, {});
    expect([empty.statusCode, empty.json().detail]).toEqual([
      400,
      'at least one of url and types is required',
    ]);
  });

  test('of another account, or none, or that of the settings, is not found', async () => {
    await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/main` });
    const main = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('webhook_destination')
        .select('id')
        .executeTakeFirstOrThrow(),
    );
    const foreign = (await create(['*'], undefined, other)).json();
    for (const id of [foreign.id, UNKNOWN, main.id]) {
      for (const [method, path, body] of [
        ['GET', `webhook/${id}`, undefined],
        ['PATCH', `webhook/${id}`, { types: ['*'] }],
        ['DELETE', `webhook/${id}`, undefined],
        ['POST', `webhook/${id}/key`, {}],
        ['POST', 'settings/webhook/test', { webhookId: id }],
      ] as const) {
        const answer = await account.call(method, path, body);
        expect(
          [answer.statusCode, answer.json().detail],
          `${method} ${path}`,
        ).toEqual([404, 'Webhook not found']);
      }
    }
    expect((await account.call('GET', 'settings')).json().webhookUrl).toBe(
      `${HOOKS}/main`,
    );
  });

  test('keeps its key sealed in the database, and so does the one of the settings', async () => {
    const { webhookKey } = (await create(['*'])).json();
    const settings = (
      await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/main` })
    ).json();
    const rows = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db.selectFrom('webhook_destination').select('key').execute(),
    );
    expect(rows).toHaveLength(2);
    for (const key of [webhookKey, settings.webhookKey])
      expect(JSON.stringify(rows)).not.toContain(key);
  });
});

describe('an event', () => {
  test('goes to the destination of the settings and to each further one whose filter it passes', async () => {
    await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/main` });
    const exact = (await create(['patient.admit'])).json().id;
    const prefix = (await create(['patient.*'])).json().id;
    const every = (await create(['*'])).json().id;
    const elsewhere = (await create(['network-query.hie'])).json().id;
    await create(['*'], undefined, other);
    const destinationsOf = async (type: string) => {
      const [main, ...copies] = await routesOf(await tell(type));
      expect(main?.status).toBe('pending');
      return copies.map((row) => row.destination_id).sort();
    };
    expect(await destinationsOf('patient.admit')).toEqual(
      [exact, prefix, every].sort(),
    );
    expect(await destinationsOf('patient.transfer')).toEqual(
      [prefix, every].sort(),
    );
    expect(await destinationsOf('network-query.hie')).toEqual(
      [every, elsewhere].sort(),
    );
    expect(await destinationsOf('network-query.hie.first-data-ready')).toEqual([
      every,
    ]);
    expect((await account.call('GET', `webhook/${exact}`)).json().pending).toBe(
      1,
    );
    expect((await account.call('GET', 'settings/webhook')).json().pending).toBe(
      12,
    );
    expect((await account.call('DELETE', `webhook/${every}`)).statusCode).toBe(
      204,
    );
    expect((await account.call('GET', 'settings/webhook')).json().pending).toBe(
      8,
    );
  });

  test('can be named by a filter, whatever its type', () => {
    expect(WEBHOOK_EVENT_TYPES).toEqual(
      expect.arrayContaining([
        'network-query.hie',
        'patient.admit',
        'medical.consolidated-data',
      ]),
    );
    expect(WEBHOOK_EVENT_TYPES).not.toContain('ping');
  });
});

describe('sending again', () => {
  const retry = async (body?: unknown) =>
    (await account.call('POST', 'settings/webhook/retry', body)).json();

  test('without a body sends what is undelivered, to the destination where it is', async () => {
    await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/main` });
    await create(['patient.*']);
    const message = await tell('patient.admit');
    const [main, copy] = await routesOf(message);
    await setStatus(message, 'delivered');
    await setStatus(copy?.id ?? '', 'dead');
    expect(await retry()).toEqual({
      message: 'All undelivered events are being resent',
      events: 1,
    });
    expect(sent).toEqual([copy?.id]);
    expect(
      (await routesOf(message)).map(({ status, attempts }) => [
        status,
        attempts,
      ]),
    ).toEqual([
      ['delivered', 10],
      ['pending', 0],
    ]);
    await setStatus(copy?.id ?? '', 'delivered');
    expect(await retry({})).toEqual({
      message: 'There are no undelivered events',
      events: 0,
    });
    expect(main?.id).toBe(message);
  });

  test('sends one event, or those of a time, delivered before or not, also to destinations that are new', async () => {
    await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/main` });
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 12, minute));
    const messages: string[] = [];
    for (const minute of [0, 1, 2]) {
      messages.push(await tell('patient.admit', { occurredAt: at(minute) }));
      await setStatus(messages[minute] ?? '', 'delivered');
    }
    expect(await retry({ eventId: messages[1] })).toEqual({
      message: 'The selected events are being resent',
      events: 1,
    });
    expect(sent).toEqual([messages[1]]);

    const { id: webhookId } = (await create(['patient.*'])).json();
    sent.length = 0;
    const range = { from: at(1).toISOString(), to: at(2).toISOString() };
    expect((await retry({ ...range, webhookId })).events).toBe(2);
    expect(sent).not.toContain(messages[1]);
    for (const message of messages.slice(1)) {
      const [, copy] = await routesOf(message);
      expect(copy).toMatchObject({
        destination_id: webhookId,
        status: 'pending',
      });
    }
    expect((await retry(range)).events).toBe(4);
    expect((await retry({ from: at(3).toISOString() })).message).toBe(
      'There is nothing to send',
    );
    expect((await routesOf(messages[0] ?? '')).length).toBe(1);
  });

  test.each([
    [{ eventId: 'x' }, 400, /eventId: expected a UUID/],
    [
      { eventId: UNKNOWN, from: '2026-01-01T00:00:00Z' },
      400,
      /^eventId: cannot be used together with from or to$/,
    ],
    [{ to: '2026-01-01T00:00:00Z' }, 400, /^from: is required if to is given$/],
    [
      { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' },
      400,
      /^to: is before from; use a later time$/,
    ],
    [
      { webhookId: UNKNOWN },
      400,
      /^webhookId: can only be used together with eventId or from$/,
    ],
    [{ eventId: UNKNOWN }, 404, /^Event not found$/],
    [
      { from: '2026-01-01T00:00:00Z', webhookId: UNKNOWN },
      404,
      /^Webhook not found$/,
    ],
  ])('of %j is refused', async (body, status, detail) => {
    expect(await retry(body)).toMatchObject({
      status,
      detail: expect.stringMatching(detail),
    });
  });

  test('does not open what goes to a destination that has refused everything', async () => {
    const { id } = (await create(['patient.*'])).json();
    await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .updateTable('webhook_destination')
        .set({ health: 'disabled' })
        .where('id', '=', id)
        .execute(),
    );
    const message = await tell('patient.admit');
    expect((await routesOf(message)).map(({ status }) => status)).toEqual([
      'unrouted',
      'unrouted',
    ]);
    expect(await retry()).toMatchObject({ events: 0 });
    expect((await account.call('GET', `webhook/${id}`)).json()).toMatchObject({
      enabled: false,
      status: 'disabled',
    });
    await account.call('PATCH', `webhook/${id}`, { url: `${HOOKS}/a` });
    expect(await retry()).toMatchObject({ events: 1 });
  });
});

describe('a test event', () => {
  test('goes to the destination of the settings alone, or to the one that is named', async () => {
    const committed: string[] = [];
    gateway.store.onEventsCommitted(
      (_account, ids) => void committed.push(...ids),
    );
    const { id: webhookId } = (await create(['*'])).json();
    const unset = await account.call('POST', 'settings/webhook/test');
    expect([unset.statusCode, unset.json().detail]).toEqual([
      400,
      'no webhookUrl is set; set one with POST /medical/v1/settings',
    ]);
    await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/main` });
    const answer = await account.call('POST', '/settings/webhook/test');
    expect([answer.statusCode, answer.json().message]).toEqual([
      200,
      'A test event is being sent',
    ]);
    const named = (
      await account.call('POST', 'settings/webhook/test', { webhookId })
    ).json();
    expect(committed).toEqual([answer.json().eventId, named.eventId]);
    const [main, ...others] = await routesOf(answer.json().eventId);
    expect([main?.destination_id === webhookId, others]).toEqual([false, []]);
    expect(await routesOf(named.eventId)).toMatchObject([
      { destination_id: webhookId, status: 'pending' },
    ]);
  });
});

describe('a new key', () => {
  test('is in force at once; the one before it is good until the overlap ends', async () => {
    await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/main` });
    const webhook = (await create(['*'])).json();
    for (const [rotate, read] of [
      ['settings/webhook/key', 'settings'],
      [`webhook/${webhook.id}/key`, `webhook/${webhook.id}`],
    ] as const) {
      const before = (await account.call('GET', read)).json().webhookKey;
      const answer = await account.call('POST', rotate, { overlapHours: 2 });
      expect(answer.statusCode).toBe(200);
      const { webhookKey, previousKeyUntil } = answer.json();
      expect(webhookKey).not.toBe(before);
      expect((await account.call('GET', read)).json().webhookKey).toBe(
        webhookKey,
      );
      const hours =
        (new Date(previousKeyUntil).getTime() - Date.now()) / 3_600_000;
      expect(hours).toBeGreaterThan(1.9);
      expect(hours).toBeLessThanOrEqual(2);
      expect((await account.call('POST', rotate)).statusCode).toBe(200);
      const long = await account.call('POST', rotate, { overlapHours: 169 });
      expect([long.statusCode, long.json().detail]).toEqual([
        400,
        'overlapHours: overlapHours must be a number from 0 to 168',
      ]);
    }
    expect(
      (await account.call('GET', `webhook/${webhook.id}`)).json()
        .previousKeyUntil,
    ).toBeDefined();
    expect(
      (await other.call('POST', 'settings/webhook/key')).json().detail,
    ).toMatch(/^no webhookUrl is set/);
  });
});

describe('what was sent', () => {
  const attempt = (eventId: string, number: number, status: number) =>
    gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .insertInto('event_attempt')
        .values({
          event_id: eventId,
          attempt: number,
          account_id: account.accountId,
          http_status: status,
          outcome: `the receiver answered ${status}`,
        })
        .execute(),
    );
  const events = async (query = '', owner = account) =>
    (await owner.call('GET', `event${query}`)).json();

  test('is listed newest first with every attempt at each destination, filtered and in pages, and read with its body', async () => {
    await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/all` });
    const { id: webhookId } = (await create(['patient.*'])).json();
    const admitted = await tell('patient.admit');
    const queried = await tell('network-query.hie');
    const copy = (await routesOf(admitted)).find(({ id }) => id !== admitted);
    await attempt(admitted, 1, 503);
    await attempt(admitted, 2, 200);
    await setStatus(admitted, 'delivered');
    await attempt(copy?.id ?? '', 1, 410);
    await setStatus(copy?.id ?? '', 'dead');

    const listed = await events();
    expect(listed.events.map(({ id }: { id: string }) => id)).toEqual([
      queried,
      admitted,
    ]);
    expect(listed.events[1]).toMatchObject({
      type: 'patient.admit',
      status: 'failed',
      deliveries: [
        {
          url: `${HOOKS}/all`,
          status: 'delivered',
          attempts: [{ httpStatus: 503 }, { httpStatus: 200 }],
        },
        { webhookId, status: 'failed', attempts: [{ httpStatus: 410 }] },
      ],
    });
    expect((await events('?status=failed')).events).toHaveLength(1);
    expect((await events('?type=network-query.hie')).events).toHaveLength(1);
    expect((await events('?from=2100-01-01T00:00:00Z')).events).toEqual([]);
    const first = await events('?count=1');
    expect(first.meta).toMatchObject({ itemsInTotal: 2 });
    const { search } = new URL(first.meta.nextPage);
    expect((await events(search)).events).toMatchObject([{ id: admitted }]);

    const read = (await account.call('GET', `event/${admitted}`)).json();
    expect(read).toEqual({
      ...listed.events[1],
      body: { meta: { messageId: admitted } },
    });
  });

  test('is sent again to all destinations or to one, and another account neither sees nor sends it', async () => {
    await account.call('POST', 'settings', { webhookUrl: `${HOOKS}/all` });
    const { id: webhookId } = (await create(['patient.*'])).json();
    const admitted = await tell('patient.admit');
    for (const { id } of await routesOf(admitted))
      await setStatus(id, 'delivered');
    sent.length = 0;

    const url = `event/${admitted}/resend`;
    expect((await other.call('POST', url)).statusCode).toBe(404);
    expect((await other.call('GET', `event/${admitted}`)).statusCode).toBe(404);
    expect((await events('', other)).events).toEqual([]);
    expect((await account.call('POST', url, { webhookId })).json()).toEqual({
      message: 'The event is being sent again',
      events: 1,
    });
    expect((await account.call('POST', url)).json().events).toBe(2);
    expect(sent).toContain(admitted);
    expect((await events()).events).toMatchObject([{ status: 'pending' }]);
  });
});
