import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect as openSocket, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { request } from 'undici';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import {
  UPLOAD_BYTES_MAX,
  uploadConflictSchema,
} from '../../src/contract/bulk-create.ts';
import { expireUpload } from '../../src/exchange/people/bulk-create/upload-store.ts';
import { insertFacility } from '../../src/exchange/people/facilities/facility-store.ts';
import {
  areCallersServed,
  GATEWAY_CONNECTIONS,
} from '../../src/exchange/platform/database/connections.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import {
  createTestGateway,
  TEST_BASE_URL,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { createTestStore } from '../support/postgres.ts';

const CSV = 'firstName,lastName\nPat,Sample\n';
const sha256 = (text: string) =>
  createHash('sha256').update(text).digest('hex');

let gateway: TestGateway;
let account: TestAccount;
let address: URL;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  address = new URL(await gateway.app.listen({ host: '127.0.0.1', port: 0 }));
});
afterAll(() => gateway.close());

interface Started {
  requestId: string;
  path: string;
}

async function start(by: TestAccount = account): Promise<Started> {
  const { requestId, uploadUrl } = (
    await by.call('POST', 'patient/bulk')
  ).json();
  return { requestId, path: new URL(uploadUrl).pathname };
}

/** Over a real connection. */
async function put(
  path: string,
  body: string | Readable,
  headers: Record<string, string | undefined> = {},
) {
  const sent = Object.entries({
    'x-api-key': account.apiKey,
    'content-type': 'text/csv',
    ...headers,
  });
  const answer = await request(new URL(path, address), {
    method: 'PUT',
    headers: Object.fromEntries(
      sent.filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    body,
  });
  return {
    status: answer.statusCode,
    body: (await answer.body.json()) as Record<string, unknown>,
  };
}

const statusOf = async (requestId: string) =>
  (await account.call('GET', `patient/bulk/${requestId}`)).json();

/** Moves the end of the request's ten minutes into the past. */
const letTimePass = (requestId: string, seenSecondsAgo: number | null = null) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    sql`update bulk_request set upload_expires_at = now() - interval '1 second',
          upload_seen_at = now() - ${seenSecondsAgo}::int * interval '1 second' where id = ${requestId}`.execute(
      tx.db,
    ),
  );
const expire = (requestId: string) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    expireUpload(tx, requestId),
  );

const eventsOf = (requestId: string) =>
  gateway.store.asAccount(account.accountId, async (tx) => {
    const rows = await tx.db
      .selectFrom('event')
      .select('body')
      .where('request_id', '=', requestId)
      .execute();
    return rows.map(({ body }) => body.bulkPatientCreate);
  });

/** Writes the head of a PUT by hand and leaves the rest to the test. */
async function openPut(path: string, length: number): Promise<Socket> {
  const socket = openSocket({
    host: address.hostname,
    port: Number(address.port),
  });
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  socket.write(
    `PUT ${path} HTTP/1.1\r\nhost: test\r\nx-api-key: ${account.apiKey}\r\ncontent-type: text/csv\r\ncontent-length: ${length}\r\n\r\n`,
  );
  return socket;
}
const hasBegun = async (requestId: string) => {
  for (let tries = 0; tries < 200; tries++) {
    const row = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('bulk_request')
        .select('upload_begun_at')
        .where('id', '=', requestId)
        .executeTakeFirst(),
    );
    if (row?.upload_begun_at != null) return;
    await delay(10);
  }
  throw new Error('the upload did not begin');
};

describe('the start of a bulk create', () => {
  test('takes the only facility, ignores any body, and gives the upload URL of this service', async () => {
    const answer = await account.call('POST', 'patient/bulk', undefined, {
      'content-type': 'text/csv',
    });
    expect(answer.statusCode).toBe(200);
    const { requestId, uploadUrl, createdAt, ...rest } = answer.json();
    expect(rest).toEqual({
      status: 'waiting',
      facilityId: account.facilityId,
      params: { dryRun: false },
    });
    expect(uploadUrl.startsWith(`${TEST_BASE_URL}/links/bulk-upload/`)).toBe(
      true,
    );
    expect(gateway.launched).toContain(requestId);
    expect(await statusOf(requestId)).toEqual({
      requestId,
      createdAt,
      ...rest,
      counts: { rows: 0, handled: 0, created: 0, updated: 0, failed: 0 },
    });
  });

  test.each([
    ['a facility that is not there', `facilityId=${uuidv7()}`, 404],
    ['something that is no id', 'facilityId=main-clinic', 404],
    ['an empty facility', 'facilityId=', 400],
    ['a dryRun that is neither', 'dryRun=maybe', 400],
  ])('refuses %s', async (_what, query, status) => {
    expect(
      (await account.call('POST', `patient/bulk?${query}`)).statusCode,
    ).toBe(status);
  });

  test('needs a facility when the account has several, and knows another account’s as none', async () => {
    const other = await gateway.addAccount();
    const second = uuidv7();
    await gateway.store.asAccount(other.accountId, (tx) =>
      insertFacility(tx, {
        id: second,
        oid: '2.16.840.1.113883.3.9621.5.2',
        name: 'Second clinic',
        npi: '1245319599',
        tin: null,
        address: {
          addressLine1: '2 Main St',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      }),
    );
    const none = await other.call('POST', 'patient/bulk');
    expect([none.statusCode, none.json().detail]).toEqual([
      400,
      'facilityId: is required: the account has 2 facilities',
    ]);
    const chosen = await other.call(
      'POST',
      `patient/bulk?facilityId=${second}&dryRun=true`,
    );
    expect(chosen.json()).toMatchObject({
      facilityId: second,
      params: { dryRun: true },
    });
    expect(
      (await account.call('POST', `patient/bulk?facilityId=${second}`))
        .statusCode,
    ).toBe(404);
  });

  test('repeated under its Idempotency-Key gives the same request and URL', async () => {
    const headers = { 'idempotency-key': 'panel-1' };
    const first = await account.call(
      'POST',
      'patient/bulk',
      undefined,
      headers,
    );
    const again = await account.call(
      'POST',
      'patient/bulk',
      undefined,
      headers,
    );
    expect(again.json()).toEqual(first.json());
  });

  test('can be found in the list, newest first, and is nothing of another account', async () => {
    const { requestId } = await start();
    const page = (await account.call('GET', 'patient/bulk?count=1')).json();
    expect(page.bulkCreates.map((one: Started) => one.requestId)).toEqual([
      requestId,
    ]);
    const next = (
      await account.call('GET', page.meta.nextPage.slice(TEST_BASE_URL.length))
    ).json();
    expect(next.bulkCreates[0].requestId).not.toBe(requestId);
    const other = await gateway.addAccount();
    expect(
      (await other.call('GET', `patient/bulk/${requestId}`)).statusCode,
    ).toBe(404);
  });
});

describe('an upload', () => {
  test('moves the request to processing, returns the hash, and records the webhook in the same transaction', async () => {
    const { requestId, path } = await start();
    const answer = await put(path, CSV, {
      'content-type': 'Text/CSV; charset=utf-8',
    });
    expect(answer).toEqual({
      status: 200,
      body: {
        requestId,
        status: 'processing',
        sha256: sha256(CSV),
        sizeBytes: CSV.length,
      },
    });
    expect((await statusOf(requestId)).status).toBe('processing');
    expect(await eventsOf(requestId)).toEqual([
      { requestId, status: 'processing' },
    ]);
    expect(gateway.launched.filter((id) => id === requestId)).toHaveLength(2);
  });

  test('whose response was lost learns from a repeat what was stored, also after the tenth minute', async () => {
    const { requestId, path } = await start();
    await put(path, CSV);
    for (const late of [false, true]) {
      if (late) await letTimePass(requestId);
      const again = await put(path, 'another file');
      expect(again.status).toBe(409);
      expect(uploadConflictSchema.parse(again.body).upload).toEqual({
        requestId,
        status: 'processing',
        sha256: sha256(CSV),
        sizeBytes: CSV.length,
      });
    }
    expect(await eventsOf(requestId)).toHaveLength(1);
  });

  const refused: [string, Parameters<typeof put>[2], string, number][] = [
    [
      'of another content type',
      { 'content-type': 'application/json' },
      CSV,
      415,
    ],
    ['without a content type', { 'content-type': undefined }, CSV, 415],
    ['that is compressed', { 'content-encoding': 'gzip' }, CSV, 415],
    ['without a key', { 'x-api-key': undefined }, CSV, 401],
    ['that is empty', {}, '', 400],
  ];
  test.each(refused)(
    '%s is refused, and the right one may follow',
    async (_what, headers, body, status) => {
      const { requestId, path } = await start();
      expect((await put(path, body, headers)).status).toBe(status);
      expect((await statusOf(requestId)).status).toBe('waiting');
      expect((await put(path, CSV)).status).toBe(200);
    },
  );

  test('with another account’s key finds nothing, nor does a changed link', async () => {
    const stranger = await gateway.addAccount();
    const { path } = await start();
    expect(
      (await put(path, CSV, { 'x-api-key': stranger.apiKey })).status,
    ).toBe(404);
    expect((await put(`${path.slice(0, -1)}_`, CSV)).status).toBe(404);
  });

  test('that announces more than the largest file is refused before it is sent', async () => {
    const { path } = await start();
    const socket = await openPut(path, UPLOAD_BYTES_MAX + 1);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  test('is read to its end when it is refused, so that the sender gets the response', async () => {
    const { path } = await start();
    await put(path, CSV);
    const large = Readable.from(
      Array.from({ length: 200 }, () => 'x'.repeat(64 * 1024)),
    );
    expect((await put(path, large)).status).toBe(409);
  });

  test('that broke off leaves nothing and may be sent again at once', async () => {
    const { requestId, path } = await start();
    const before = await gateway.blobCount();
    const socket = await openPut(path, 1_000_000);
    socket.write(CSV);
    await hasBegun(requestId);
    socket.destroy();
    expect((await put(path, CSV)).status).toBe(200);
    await expect.poll(() => gateway.blobCount()).toBe(before + 1);
  });

  test('is one of two at once: the first that is whole wins, the other learns of it and leaves nothing', async () => {
    const { requestId, path } = await start();
    const before = await gateway.blobCount();
    const bodies = ['first,file\n', 'other,file\n'];
    const sockets = await Promise.all(
      bodies.map((body) => openPut(path, body.length)),
    );
    await hasBegun(requestId);
    const answers = await Promise.all(
      sockets.map(async (socket, index) => {
        socket.write(bodies[index] ?? '');
        const [answer] = await once(socket, 'data');
        socket.destroy();
        return String(answer);
      }),
    );
    expect(answers.map((answer) => answer.split(' ')[1]).sort()).toEqual([
      '200',
      '409',
    ]);
    const hash = /"sha256":"(\w+)"/;
    expect(hash.exec(answers[0] ?? '')?.[1]).toBe(
      hash.exec(answers[1] ?? '')?.[1],
    );
    expect(await eventsOf(requestId)).toHaveLength(1);
    await expect.poll(() => gateway.blobCount()).toBe(before + 1);
  });

  test('begun in time counts, though it crosses the tenth minute', async () => {
    const { requestId, path } = await start();
    const socket = await openPut(path, CSV.length);
    await hasBegun(requestId);
    await letTimePass(requestId, 5);
    expect(await expire(requestId)).toBe(false);
    socket.write(CSV);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test('after the tenth minute is refused with 410, before and after the request is seen to have expired', async () => {
    const { requestId, path } = await start();
    await letTimePass(requestId);
    expect((await put(path, CSV)).status).toBe(410);
    expect(await expire(requestId)).toBe(true);
    const late = await put(path, CSV);
    expect([late.status, late.body.detail]).toEqual([
      410,
      'The upload URL has expired; start a new bulk create',
    ]);
    expect((await statusOf(requestId)).status).toBe('expired');
    expect(await eventsOf(requestId)).toEqual([]);
  });

  test('of a gateway that died holds up the expiry for half a minute, and blocks nobody', async () => {
    const { requestId } = await start();
    await letTimePass(requestId, 29);
    expect(await expire(requestId)).toBe(false);
    await letTimePass(requestId, 31);
    expect(await expire(requestId)).toBe(true);
  });

  test('is audited, taken or refused, by the request it was for', async () => {
    const { requestId, path } = await start();
    await put(path, '', {});
    await put(path, CSV);
    await put(path, CSV);
    const outcomes = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select('outcome')
        .where('operation', '=', 'uploadBulkCreate')
        .where('target_id', '=', requestId)
        .orderBy('id')
        .execute(),
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      '400',
      '200',
      '409',
    ]);
  });
});

describe('the result', () => {
  const RESULT = 'firstName,status\nPat,created\n';

  async function completed(): Promise<string> {
    const { requestId } = await start();
    const blob = await gateway.blobs.put(
      'result',
      Buffer.from(RESULT),
      'text/csv',
    );
    await gateway.store.asAccount(account.accountId, (tx) =>
      sql`update bulk_request set status = 'completed', rows = 4, handled = 4, created = 3, failed = 1, active_ms = 2000,
            result = ${JSON.stringify(blob)}, ended_at = now() where id = ${requestId}`.execute(
        tx.db,
      ),
    );
    return requestId;
  }

  test('is led to by every answer of "get status", downloads as a file, and is audited', async () => {
    const requestId = await completed();
    const status = await statusOf(requestId);
    expect(status).toMatchObject({
      status: 'completed',
      rowsPerSecond: 2,
      counts: { created: 3, failed: 1 },
    });
    expect(status.secondsLeft).toBeUndefined();
    const answer = await gateway.app.inject(new URL(status.result).pathname);
    expect([answer.statusCode, answer.body]).toEqual([200, RESULT]);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="bulk-patient-create-${requestId}.csv"`,
      'content-length': String(RESULT.length),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    const audit = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select('actor')
        .where('target_id', '=', requestId)
        .execute(),
    );
    expect(audit).toContainEqual({ actor: 'link' });
  });

  test('is not there before the request has completed', async () => {
    const { requestId, path } = await start();
    await put(path, CSV);
    expect((await statusOf(requestId)).result).toBeUndefined();
  });
});

test('a caller who only asks how an import stands is not one for whom the import leaves a processor free', async () => {
  const { store, databaseUrl, close } = await createTestStore({
    name: GATEWAY_CONNECTIONS,
    poolMax: 1,
  });
  onTestFinished(close);
  const watching = createStore({ databaseUrl, poolMax: 1 });
  onTestFinished(() => watching.close());
  const own = await createTestGateway({ store });
  onTestFinished(() => own.close());
  const caller = await own.addAccount();
  const { requestId } = await start(caller);
  const isServed = () => areCallersServed(watching, 3_600_000);
  expect(await isServed()).toBe(true);
  expect(
    (await caller.call('GET', `patient/bulk/${requestId}`)).statusCode,
  ).toBe(200);
  expect(await isServed()).toBe(false);
  await caller.call('GET', 'patient/bulk');
  expect(await isServed()).toBe(true);
});
