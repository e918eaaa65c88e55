import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
  vi,
} from 'vitest';
import { insertApiKey } from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import { linkedBody } from '../../src/exchange/event-links.ts';
import {
  consolidatedDataUrl,
  createLinkMaker,
} from '../../src/exchange/platform/links/signed-link.ts';
import { claimEvents } from '../../src/exchange/platform/outbox/claim-store.ts';
import {
  createWebhookKeys,
  generateWebhookKey,
} from '../../src/exchange/platform/outbox/webhook-key.ts';
import { isSigned } from '../../src/orchestrator/receiver/signatures.ts';
import { TEST_BASE_URL, TEST_LINK_KEY } from '../support/gateway.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { bulkIn } from './every-operation/cases/bulk-creates.ts';
import { documentOf } from './every-operation/cases/documents.ts';
import { verifiedIdentity } from './every-operation/cases/identity.ts';
import { notification } from './every-operation/cases/notifications.ts';
import { createWorld, type World } from './every-operation/world.ts';

/**
 * Everything that ends with time, right before its end and right after. Times
 * that only one place knows are tested there: AAL2 session (identity.test.ts),
 * upload URL (bulk-create.test.ts), renditions (documents.test.ts), results
 * (consolidated-results.test.ts).
 */
const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

let world: World;
let admin: pg.Client;
beforeAll(async () => {
  world = await createWorld();
  admin = new pg.Client({ connectionString: world.databaseUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await world.close();
});

/**
 * The gateway's clock stands where a test puts it; timers, and the database's
 * clock, go on.
 */
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());
const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms);
/**
 * Where the database's clock decides: what it compares becomes that much older.
 */
const age = (table: string, column: string, ms: number) =>
  admin.query(
    `update ${table} set ${column} = ${column} - make_interval(secs => $1)`,
    [ms / SECOND],
  );

const links = createLinkMaker(TEST_BASE_URL, TEST_LINK_KEY);
const get = (url: string, headers: Record<string, string> = {}) =>
  world.app.inject({ url: url.replace(TEST_BASE_URL, ''), headers });
const read = async (path: string) =>
  (await world.account.call('GET', path)).json();

async function addKey(expiresAt?: Date): Promise<{ 'x-api-key': string }> {
  const apiKey = generateApiKey();
  const key = parseApiKey(apiKey);
  if (key === undefined) throw new Error('not a key');
  const { accountId } = world.account;
  await world.inSystem((tx) =>
    insertApiKey(tx, { id: uuidv7(), accountId, ...key, expiresAt }),
  );
  return { 'x-api-key': apiKey };
}
const embedToken = async (
  headers: Record<string, string>,
  body?: object,
): Promise<Record<string, string>> => {
  const answer = await world.account.call('POST', 'token/embed', body, headers);
  return { authorization: `Bearer ${answer.json().token}` };
};

describe('a link', () => {
  test.each<[string, number, () => Promise<string>]>([
    [
      'to a document (E14) lasts a minute',
      MINUTE,
      async () =>
        (
          await read(
            `document/download-url?fileName=${(await documentOf(world)).fileName}`,
          )
        ).url,
    ],
    [
      'to documents in bulk lasts an hour from its sending',
      HOUR,
      async () => {
        const { patientId } = await documentOf(world);
        const { requestId } = await world.make.call(
          'POST',
          `document/download-url/bulk?patientId=${patientId}`,
        );
        const event = await world.inAccount(({ db }) =>
          db
            .selectFrom('event')
            .select(['type', 'body', 'patient_id as patientId'])
            .where('request_id', '=', requestId)
            .executeTakeFirstOrThrow(),
        );
        return (
          JSON.stringify(
            linkedBody(links, world.account.accountId, event),
          ).match(/https:[^"]+/)?.[0] ?? ''
        );
      },
    ],
    [
      'to the merged data of a patient lasts 72 hours',
      72 * HOUR,
      async () =>
        consolidatedDataUrl(links, {
          accountId: world.account.accountId,
          patientId: await world.make.patient(),
        }),
    ],
    [
      'to the result of a consolidated query lasts 72 hours',
      72 * HOUR,
      async () => {
        const id = await world.make.patient();
        const { requestId } = await world.make.call(
          'POST',
          `patient/${id}/consolidated/query`,
        );
        const result = JSON.stringify(
          await world.blobs.put(
            'consolidated',
            Buffer.from('{}'),
            'application/json',
          ),
        );
        await world.inAccount(({ db }) =>
          db
            .updateTable('consolidated_query')
            .set({ status: 'completed', result, ended_at: new Date() })
            .where('id', '=', requestId)
            .execute(),
        );
        return (await read(`patient/${id}/consolidated/query/${requestId}`))
          .result;
      },
    ],
    [
      'to the result of a bulk create lasts an hour',
      HOUR,
      async () =>
        (
          await read(
            `patient/bulk/${(await bulkIn(world, 'completed')).params?.requestId}`,
          )
        ).result,
    ],
  ])('%s', async (_what, lifetimeMs, make) => {
    const url = await make();
    pass(lifetimeMs - SECOND);
    expect((await get(url)).statusCode).toBe(200);
    pass(SECOND);
    const late = await get(url);
    expect([late.statusCode, late.json().detail]).toEqual([
      410,
      'This link has expired; request a new one',
    ]);
  });

  test('of a notification lasts ten minutes', async () => {
    const { params } = await notification(world);
    const { url } = await read(`notification/${params?.id}`);
    pass(10 * MINUTE - SECOND);
    // Nothing was kept of what this one tells; the link is good.
    expect((await get(url)).statusCode).not.toBe(410);
    pass(SECOND);
    expect((await get(url)).statusCode).toBe(410);
  });
});

describe('an API key', () => {
  test('is good until it expires, and so are the embed tokens that it made', async () => {
    const key = await addKey(new Date(Date.now() + HOUR));
    const token = await embedToken(key);
    const patient = `/medical/v1/patient/${await world.make.patient()}`;
    const both = async () => [
      (await get(patient, key)).statusCode,
      (await get(patient, token)).statusCode,
    ];
    await age('api_key', 'expires_at', 59 * MINUTE);
    expect(await both()).toEqual([200, 200]);
    await age('api_key', 'expires_at', MINUTE);
    expect(await both()).toEqual([401, 401]);
  });
});

describe('an embed token', () => {
  test.each<[string, object | undefined, number]>([
    ['ten hours when nothing is said', undefined, 10 * HOUR],
    ['as long as was asked for', { expirationInSeconds: 60 }, MINUTE],
  ])('is good for %s', async (_what, body, lifetimeMs) => {
    const token = await embedToken({}, body);
    const patient = `/medical/v1/patient/${await world.make.patient()}`;
    // It says when it ends in whole seconds.
    pass(lifetimeMs - 2 * SECOND);
    expect((await get(patient, token)).statusCode).toBe(200);
    pass(2 * SECOND);
    expect((await get(patient, token)).statusCode).toBe(401);
  });
});

describe('a verification', () => {
  const redirectUrl = 'https://app.example.org/';

  test('of an identity waits for seven days', async () => {
    const asked = { patientId: await world.make.patient(), redirectUrl };
    const { sessionId, expiresAt } = await world.make.call(
      'POST',
      'identity/session',
      asked,
    );
    expect(new Date(expiresAt).getTime()).toBe(Date.now() + 7 * 24 * HOUR);
    pass(7 * 24 * HOUR - SECOND);
    expect((await read(`identity/session/${sessionId}`)).status).toBe(
      'pending',
    );
    pass(SECOND);
    expect((await read(`identity/session/${sessionId}`)).status).toBe(
      'expired',
    );
  });

  test('by two factors waits for an hour', async () => {
    const proofedIdentityId = await verifiedIdentity(world);
    const { challengeId } = await world.make.call(
      'POST',
      'identity/aal2/challenge',
      {
        proofedIdentityId,
        redirectUrl,
      },
    );
    pass(HOUR - SECOND);
    expect((await read(`identity/aal2/challenge/${challengeId}`)).status).toBe(
      'pending',
    );
    pass(SECOND);
    expect((await read(`identity/aal2/challenge/${challengeId}`)).status).toBe(
      'expired',
    );
  });
});

describe('an idempotency key', () => {
  test('gives its answer for 24 hours, and then is another request', async () => {
    const key = { 'idempotency-key': 'for a day' };
    const ask = async () =>
      (await world.account.call('POST', 'token/embed', {}, key)).json().token;
    const first = await ask();
    await age('idempotency_key', 'created_at', 24 * HOUR - 5 * SECOND);
    expect(await ask()).toBe(first);
    await age('idempotency_key', 'created_at', 5 * SECOND);
    expect(await ask()).not.toBe(first);
  });
});

describe('a limit', () => {
  test('of requests begins anew with the minute that Retry-After names', async () => {
    const account = await world.addAccount({
      settings: { limits: { requestsPerMinute: 2 } },
    });
    const ask = () => account.call('GET', 'facility');
    // The third may fall into the next minute, the fifth cannot be allowed with
    // the first.
    const answers = [
      await ask(),
      await ask(),
      await ask(),
      await ask(),
      await ask(),
    ];
    const refused = answers.filter(({ statusCode }) => statusCode === 429);
    expect(refused.length).toBeGreaterThan(0);
    const waitMs = Number(refused.at(-1)?.headers['retry-after']) * SECOND;
    expect(waitMs).toBeLessThanOrEqual(MINUTE);
    pass(waitMs);
    await age('rate_window', 'window_start', MINUTE);
    expect((await ask()).statusCode).toBe(200);
  });
});

describe('the key of a webhook destination', () => {
  test('that was replaced signs as long as the overlap lasts', async () => {
    await world.account.call('POST', 'settings', {
      webhookUrl: 'https://hooks.example.org/medical',
    });
    const before = (await read('settings')).webhookKey;
    const { webhookKey } = await world.make.call(
      'POST',
      'settings/webhook/key',
      { overlapHours: 2 },
    );
    const keysOfTest = async () => {
      const { eventId } = await world.make.call(
        'POST',
        'settings/webhook/test',
        {},
      );
      const [claim] = await world.inAccount((tx) =>
        claimEvents(tx, [{ accountId: tx.accountId, eventId }]),
      );
      const sealed = claim?.kind === 'claimed' ? claim.event.keys : [];
      return sealed.map((key) => createWebhookKeys(testKeyRing()).open(key));
    };
    pass(2 * HOUR - SECOND);
    expect(await keysOfTest()).toEqual([webhookKey, before]);
    pass(SECOND);
    expect(await keysOfTest()).toEqual([webhookKey]);
  });
});

describe('a webhook', () => {
  test('is taken by the receiver five minutes before and after it was signed', () => {
    const key = generateWebhookKey();
    const body = Buffer.from('{}');
    const at = new Date();
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / SECOND)),
      'webhook-signature': new Webhook(key).sign('msg_1', at, '{}'),
    };
    const isTaken = (afterMs: number) => {
      vi.setSystemTime(Math.floor(at.getTime() / SECOND) * SECOND + afterMs);
      return isSigned(body, headers, [key]);
    };
    expect(
      [-301, -300, 0, 300, 301].map((seconds) => isTaken(seconds * SECOND)),
    ).toEqual([false, true, true, true, false]);
  });
});
