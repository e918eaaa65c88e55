import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  consolidatedDataUrl,
  createLinkMaker,
  signLink,
} from '../../src/exchange/platform/links/signed-link.ts';
import {
  createTestGateway,
  newPerson,
  TEST_BASE_URL,
  TEST_LINK_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
let patientId: string;
const callbacks: {
  token: string;
  headers: Record<string, unknown>;
  rawBody: Buffer;
}[] = [];

beforeAll(async () => {
  gateway = await createTestGateway({
    sourceCallbacks: {
      announce: async () => undefined,
      handle: async (token, headers, rawBody) => {
        callbacks.push({ token, headers, rawBody });
        return { status: token === 'known' ? 200 : 404 };
      },
    },
  });
  account = await gateway.addAccount();
  const answer = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    newPerson(),
  );
  patientId = answer.json().id;
});
afterAll(() => gateway.close());

/**
 * Stores observations and medications straight away; the collector has tests of
 * its own.
 */
async function storeResources(count: number): Promise<void> {
  const documentId = uuidv7();
  await gateway.store.asAccount(account.accountId, async (tx) => {
    await sql`insert into document (id, account_id, patient_id, query_id, source, kind, file_name, content_type,
                size_bytes, sha256, blob_ref)
              values (${documentId}, ${account.accountId}, ${patientId}, ${uuidv7()}, 'hie', 'page', 'p.json',
                'application/fhir+json', 1, ${createHash('sha256').digest()}, 'x')`.execute(
      tx.db,
    );
    await sql`insert into patient_resource (account_id, patient_id, source, resource_type, source_id, document_id,
                sha256, content)
              select ${account.accountId}, ${patientId}, case when n % 2 = 0 then 'hie' else 'lab' end, 'Observation',
                'o' || n, ${documentId}, ${createHash('sha256').digest()},
                jsonb_build_object('resourceType', 'Observation', 'id', 'o' || n, 'status', 'final',
                  'subject', jsonb_build_object('reference', 'Patient/p1'),
                  'code', jsonb_build_object('text', '"quoted" ' || n))
              from generate_series(1, ${count}) as n`.execute(tx.db);
  });
}

const get = (url: string) => gateway.app.inject({ method: 'GET', url });
const linkOf = (target = { accountId: account.accountId, patientId }) =>
  consolidatedDataUrl(createLinkMaker('', TEST_LINK_KEY), target);

describe('the link to a patient’s data', () => {
  test('gives the merged record as a FHIR Bundle, each resource with its Provenance, without a key', async () => {
    const before = (await get(linkOf())).json();
    expect(before).toMatchObject({
      resourceType: 'Bundle',
      type: 'collection',
    });
    expect(before.entry).toMatchObject([
      { resource: { resourceType: 'Patient', id: patientId } },
    ]);
    await storeResources(501);
    const answer = await get(linkOf());
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toBe(
      'application/fhir+json; charset=utf-8',
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    const entries: {
      fullUrl: string;
      resource: { resourceType: string; id: string };
    }[] = answer.json().entry;
    const observations = entries.filter(
      ({ resource }) => resource.resourceType === 'Observation',
    );
    expect(new Set(observations.map(({ resource }) => resource.id)).size).toBe(
      501,
    );
    expect(entries).toHaveLength(1 + 2 * 501);
    expect(new Set(entries.map(({ fullUrl }) => fullUrl)).size).toBe(
      entries.length,
    );
  });

  test('is on the public address', () => {
    const url = consolidatedDataUrl(
      createLinkMaker(TEST_BASE_URL, TEST_LINK_KEY),
      {
        accountId: account.accountId,
        patientId,
      },
    );
    expect(url).toMatch(
      /^https:\/\/exchange\.test\.example\.org\/links\/consolidated\/[\w-]+$/,
    );
  });

  test('is audited with every use', async () => {
    const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
      sql<{ actor: string; patient_id: string }>`
        select * from audit_entry where operation = 'readConsolidatedLink'`.execute(
        tx.db,
      ),
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(
      rows.every((row) => row.actor === 'link' && row.patient_id === patientId),
    ).toBe(true);
  });

  test('answers 410 when it has expired', async () => {
    const token = signLink(
      TEST_LINK_KEY,
      'consolidated',
      { accountId: account.accountId, targetId: patientId },
      Date.now() - 1000,
    );
    expect((await get(`/links/consolidated/${token}`)).statusCode).toBe(410);
  });

  test('answers 404 when anything of it was changed', async () => {
    const path = linkOf();
    const start = '/links/consolidated/'.length;
    for (let at = start; at < path.length; at += 7) {
      const letter = path[at] === 'A' ? 'B' : 'A';
      const changed = path.slice(0, at) + letter + path.slice(at + 1);
      expect((await get(changed)).statusCode, `at ${at}`).toBe(404);
    }
    expect((await get(path.slice(0, -1))).statusCode).toBe(404);
    expect((await get('/links/consolidated/x')).statusCode).toBe(404);
  });

  test('of one account does not open another one’s patient', async () => {
    const stranger = await gateway.addAccount();
    expect(
      (await get(linkOf({ accountId: stranger.accountId, patientId })))
        .statusCode,
    ).toBe(404);
  });
});

describe('a source’s callback', () => {
  /** Headers as of a fresh signature; whose it is, the handler verifies. */
  const signed = () => ({
    'webhook-id': 'm1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
    'webhook-signature': `v1,${'A'.repeat(43)}=`,
  });
  const call = (
    token: string,
    payload?: string,
    contentType = 'application/json',
  ) =>
    gateway.app.inject({
      method: 'POST',
      url: `/sources/callback/${token}`,
      headers: {
        ...signed(),
        ...(payload === undefined ? {} : { 'content-type': contentType }),
      },
      payload,
    });

  test('is passed on as it came, byte for byte, whatever its content type', async () => {
    const body = '{ "status" :\n"ready", broken';
    for (const contentType of [
      'application/json',
      'text/plain',
      'application/fhir+json',
    ]) {
      callbacks.length = 0;
      expect((await call('known', body, contentType)).statusCode).toBe(200);
      expect(callbacks[0]?.rawBody.toString()).toBe(body);
      expect(callbacks[0]?.headers['webhook-id']).toBe('m1');
    }
  });

  test('may have no body, is bounded, and gets the status of the attempt', async () => {
    expect((await call('known')).statusCode).toBe(200);
    expect((await call('other', '{}')).statusCode).toBe(404);
    expect((await call('known', 'x'.repeat(70_000))).statusCode).toBe(413);
  });

  test('is not passed on without the headers of a fresh signature', async () => {
    callbacks.length = 0;
    for (const headers of [
      {},
      { ...signed(), 'webhook-timestamp': '1700000000' },
    ])
      expect(
        (
          await gateway.app.inject({
            method: 'POST',
            url: '/sources/callback/known',
            headers,
          })
        ).statusCode,
      ).toBe(401);
    expect(callbacks).toEqual([]);
  });
});
