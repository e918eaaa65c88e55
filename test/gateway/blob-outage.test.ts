import { randomBytes } from 'node:crypto';
import type { InjectOptions } from 'fastify';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLinkMaker } from '../../src/exchange/platform/links/signed-link.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import type { BlobRef } from '../../src/shared/blobs/blob-store.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { type BlobOutage, withOutages } from '../support/blob-outage.ts';
import {
  createTestGateway,
  newPerson,
  TEST_LINK_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

const links = createLinkMaker('', TEST_LINK_KEY);

let outage: BlobOutage;
let gateway: TestGateway;
let account: TestAccount;
let patientId: string;

beforeAll(async () => {
  gateway = await createTestGateway({
    changeBlobs: (blobs) => {
      outage = withOutages(blobs);
      return outage.blobs;
    },
    notificationSenders: [
      { name: 'mercy', secret: 'secret-of-mercy', timeZone: 'UTC' },
    ],
  });
  account = await gateway.addAccount();
  patientId = (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    )
  ).json().id;
});
afterAll(() => gateway.close());

const put = (
  content: string | Buffer,
  contentType = 'text/plain',
): Promise<BlobRef> =>
  outage.blobs.put('document', Buffer.from(content), contentType);
const inAccount = (statement: (accountId: string) => ReturnType<typeof sql>) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    statement(account.accountId).execute(tx.db),
  );
const as = (id: string) => ({ accountId: account.accountId, targetId: id });
const soon = 60_000;

async function addDocument(): Promise<string> {
  const [sample] = loadSamplePatients();
  if (sample === undefined) throw new Error('no samples');
  const { ref, sizeBytes, sha256 } = await put(
    loadCcda(sample),
    'application/xml',
  );
  const id = uuidv7();
  await inAccount(
    (
      of,
    ) => sql`insert into document (id, account_id, patient_id, query_id, source, kind, file_name, content_type,
        size_bytes, sha256, blob_ref)
      values (${id}, ${of}, ${patientId}, ${uuidv7()}, 'hie', 'attachment', ${`hie-${id}.xml`}, 'application/xml',
        ${sizeBytes}, ${Buffer.from(sha256, 'hex')}, ${ref})`,
  );
  return id;
}

async function addConsolidatedResult(): Promise<string> {
  const id = uuidv7();
  const result = JSON.stringify(await put('{}', 'application/json'));
  await inAccount(
    (
      of,
    ) => sql`insert into consolidated_query (id, account_id, patient_id, status, conversion_type, parameters, result, ended_at)
      values (${id}, ${of}, ${patientId}, 'completed', 'json', ${id}, ${result}, now())`,
  );
  return id;
}

async function startBulkCreate(): Promise<{
  requestId: string;
  uploadUrl: string;
}> {
  return (
    await account.call('POST', `patient/bulk?facilityId=${account.facilityId}`)
  ).json();
}

async function addBulkResult(): Promise<string> {
  const { requestId } = await startBulkCreate();
  const result = JSON.stringify(await put('row,result\n', 'text/csv'));
  await inAccount(
    () =>
      sql`update bulk_request set status = 'completed', result = ${result}, ended_at = now() where id = ${requestId}`,
  );
  return requestId;
}

async function addExport(): Promise<string> {
  const id = uuidv7();
  const content = JSON.stringify(
    await put('{"resourceType":"Patient"}\n', 'application/fhir+ndjson'),
  );
  await inAccount(
    (
      of,
    ) => sql`insert into bulk_export (id, account_id, actor, request, type_filters, status, transaction_time, ended_at)
      values (${id}, ${of}, 'someone', 'https://x', '{}', 'completed', now(), now())`,
  );
  await inAccount(
    (
      of,
    ) => sql`insert into bulk_export_part (export_id, kind, resource_type, slice, account_id, content, lines)
      values (${id}, 'output', 'Patient', 1, ${of}, ${content}, 1)`,
  );
  return id;
}

const withKey = (url: string): InjectOptions => ({
  method: 'GET',
  url,
  headers: { 'x-api-key': account.apiKey },
});
const HL7 = [
  'MSH|^~\\&|EPIC|MERCY|X|Y|20261101080000||ADT^A01|m1|P|2.5.1',
  'EVN|A01|20261101080000',
  'PID|1||R1^^^MERCY||Doe^Jane||19800101|F|||1 Main St^^Boston^MA^02108',
  'PV1|1|I|||||||||||||||||V1',
].join('\r');

/**
 * Each kind of request that needs the store of files. Made anew for each call.
 */
const REQUESTS: Record<string, () => Promise<InjectOptions>> = {
  'the download of a document': async () => ({
    method: 'GET',
    url: links.url('document', as(await addDocument()), soon),
  }),
  'the conversion of a document': async () =>
    withKey(
      `/medical/v1/document/download-url?fileName=${await addDocument()}&conversionType=html`,
    ),
  'a document over FHIR': async () =>
    withKey(`/fhir/R4/Binary/${await addDocument()}`),
  'the result of a consolidated query': async () => ({
    method: 'GET',
    url: links.url(
      'consolidated-result',
      as(await addConsolidatedResult()),
      soon,
    ),
  }),
  'the result of a bulk create': async () => ({
    method: 'GET',
    url: links.url('bulk-result', as(await addBulkResult()), soon),
  }),
  'a file of a bulk export': async () =>
    withKey(`/fhir/R4/bulk-export/${await addExport()}/Patient.1.ndjson`),
  'the upload of a panel': async () => {
    const { uploadUrl } = await startBulkCreate();
    return {
      method: 'PUT',
      url: new URL(uploadUrl).pathname,
      headers: { 'x-api-key': account.apiKey, 'content-type': 'text/csv' },
      payload: Buffer.concat([
        Buffer.from('firstName,lastName\n'),
        randomBytes(200_000),
      ]),
    };
  },
  'the upload of a document': async () => {
    const opened = await account.call(
      'POST',
      `document/upload?patientId=${patientId}`,
      {
        description: 'Letter',
        type: { text: 'Letter' },
        context: { period: { start: '2026-11-20' } },
      },
    );
    return {
      method: 'PUT',
      url: new URL(opened.json().uploadUrl).pathname,
      headers: { 'content-type': 'text/plain' },
      payload: 'Dear colleague',
    };
  },
  'a notification': async () => ({
    method: 'POST',
    url: '/notifications/hl7v2/mercy',
    headers: {
      'content-type': 'application/hl7-v2',
      authorization: 'Bearer secret-of-mercy',
    },
    payload: HL7.replace('|m1|', `|${uuidv7()}|`),
  }),
};

describe.each(Object.entries(REQUESTS))('%s', (_, prepare) => {
  test('is postponed while the store of files is away, leaves nothing half done, and succeeds later', async () => {
    const request = await prepare();
    outage.isAway = true;
    const refused = await gateway.app.inject(request).finally(() => {
      outage.isAway = false;
    });
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([
      503,
      '5',
    ]);
    expect(refused.body).toContain(
      'The store of files is temporarily unavailable',
    );
    expect(refused.body).not.toContain('10.1.2.3');
    // The same request again, as its client repeats it.
    const answer = await gateway.app.inject(request);
    expect(answer.statusCode, answer.body).toBe(200);
    expect(
      answer.headers['content-length'] ?? String(answer.rawPayload.length),
    ).toBe(String(answer.rawPayload.length));
  });
});

test('the log says which part was away, once for each refused request', async () => {
  const request = await (
    REQUESTS['the download of a document'] as () => Promise<InjectOptions>
  )();
  gateway.logLines.length = 0;
  outage.isAway = true;
  await gateway.app.inject(request).finally(() => {
    outage.isAway = false;
  });
  const failed = gateway.logLines.filter((line) =>
    line.includes('request failed'),
  );
  expect(failed).toHaveLength(1);
  expect(failed[0]).toContain('BlobStoreUnavailableError');
});
