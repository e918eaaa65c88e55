import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderHtml, summarise } from '#record-summary';
import {
  type ConsolidatedDataEvent,
  consolidatedDataEventSchema,
} from '../../src/contract/consolidated-query.ts';
import {
  type ConsolidatedBuilder,
  createConsolidatedBuilder,
} from '../../src/exchange/delivery/consolidated-query/build.ts';
import {
  type ConsolidatedParameters,
  openConsolidatedQuery,
  readConsolidatedQuery,
} from '../../src/exchange/delivery/consolidated-query/query-store.ts';
import { createSummaryLines } from '../../src/exchange/delivery/embed/data-routes.ts';
import { linkedBody } from '../../src/exchange/event-links.ts';
import { setDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import {
  createLinkMaker,
  signLink,
} from '../../src/exchange/platform/links/signed-link.ts';
import { generateWebhookKey } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { openRecordReader } from '../../src/exchange/records/reading/record-reader.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import {
  deliveriesOf,
  patientIdsOf,
  personOf,
  samples,
} from '../support/deliveries.ts';
import { fhirIssues } from '../support/fhir-issues.ts';
import {
  createTestGateway,
  TEST_BASE_URL,
  TEST_LINK_KEY,
  type TestGateway,
} from '../support/gateway.ts';
import {
  createRecordEnvironment,
  type RecordEnvironment,
} from '../support/record-environment.ts';
import { sealedWebhookKey, testKeyRing } from '../support/test-keys.ts';

const [sample] = samples.filter(({ key }) => key === 'keith-kiehn');
if (sample === undefined) throw new Error('the sample is gone');

let environment: RecordEnvironment;
let gateway: TestGateway;
let builder: ConsolidatedBuilder;
let folder: string;
let patientId: string;
let accountId: string;
const sent: string[] = [];

beforeAll(async () => {
  environment = await createRecordEnvironment();
  ({ accountId } = environment);
  folder = await mkdtemp(join(tmpdir(), 'consolidated-'));
  const blobs = await openFileBlobStore(folder, testKeyRing());
  gateway = await createTestGateway({ store: environment.store, blobs });
  environment.store.onEventsCommitted(
    (_accountId, eventIds) => void sent.push(...eventIds),
  );
  await environment.store.asAccount(accountId, (tx) =>
    setDestination(tx, {
      id: uuidv7(),
      url: 'https://receiver.example.org/',
      key: sealedWebhookKey(generateWebhookKey()),
    }),
  );
  builder = createConsolidatedBuilder({
    store: environment.store,
    blobs,
    records: environment.records,
    publicBaseUrl: TEST_BASE_URL,
  });
  patientId = await environment.addPatient(personOf(sample));
  for (const source of ['hie', 'lab', 'pharmacy'] as const)
    await environment.deliver(
      patientId,
      source,
      deliveriesOf(sample, [source]),
      patientIdsOf(sample).get(source) ?? [],
    );
});
afterAll(async () => {
  await gateway.close().catch(() => undefined);
  await environment.close().catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

async function open(
  parameters: ConsolidatedParameters,
  metadata?: Record<string, string>,
): Promise<string> {
  const { query } = await environment.store.asAccount(accountId, (tx) =>
    openConsolidatedQuery(tx, uuidv7(), patientId, { ...parameters, metadata }),
  );
  return query.requestId;
}

/** The one event of a query, as its webhook carries it. */
async function eventOf(requestId: string): Promise<ConsolidatedDataEvent> {
  const [event, ...others] = await environment.store.asAccount(
    accountId,
    (tx) =>
      tx.db
        .selectFrom('event')
        .select(['id', 'type', 'body', 'patient_id as patientId'])
        .where('request_id', '=', requestId)
        .execute(),
  );
  if (event === undefined || others.length > 0)
    throw new Error('there is not exactly one event');
  expect(sent).toContain(event.id);
  expect(JSON.stringify(event.body)).not.toContain('/links/');
  const links = createLinkMaker(TEST_BASE_URL, TEST_LINK_KEY);
  return consolidatedDataEventSchema.parse(linkedBody(links, accountId, event));
}

interface Attachment {
  url: string;
  contentType: string;
  size: number;
}
function attachmentOf({
  patients: [patient],
}: ConsolidatedDataEvent): Attachment {
  const resource = patient?.bundle?.entry?.[0]?.resource as {
    content: { attachment: Attachment }[];
  };
  const attachment = resource.content[0]?.attachment;
  if (attachment === undefined) throw new Error('there is no attachment');
  return attachment;
}
const follow = (url: string) =>
  gateway.app.inject({ url: url.replace(TEST_BASE_URL, '') });

async function build(parameters: ConsolidatedParameters) {
  const requestId = await open(parameters, { visit: '7' });
  expect(await builder.build({ accountId, requestId })).toMatchObject({
    state: 'completed',
  });
  const event = await eventOf(requestId);
  const attachment = attachmentOf(event);
  const answer = await follow(attachment.url);
  expect(answer.statusCode).toBe(200);
  expect(answer.rawPayload).toHaveLength(attachment.size);
  expect(answer.headers).toMatchObject({
    'content-type': attachment.contentType,
    'cache-control': 'no-store',
    'content-disposition': expect.stringMatching(
      /^inline; filename="medical-record-[\da-f-]{36}\.\w+"$/,
    ),
  });
  return { requestId, event, attachment, answer };
}

test('a summary is the same whether its record is kept, in part or not at all, and read for each table', async () => {
  const summaryOf = async (left = 32_000_000) => {
    let transactions = 0;
    const asAccount = ((account, work) => {
      transactions += 1;
      return environment.store.asAccount(account, work);
    }) as typeof environment.store.asAccount;
    const kept = { left };
    const reader = await openRecordReader(
      { asAccount },
      { accountId, patientId, filter: {} },
      kept,
    );
    let html = '';
    const madeAt = new Date('2026-11-20T08:00:00Z');
    for await (const piece of renderHtml(
      summarise(reader, { filter: {}, madeAt }),
    ))
      html += piece;
    const taken = left - kept.left;
    reader.close();
    expect(kept.left).toBe(left);
    return { html, transactions, taken };
  };
  await environment.records.merge(accountId, patientId);
  const once = await summaryOf();
  const inPages = await summaryOf(0);
  expect(once.html).toBe(inPages.html);
  expect(once.transactions).toBe(2);
  expect(once.taken).toBeGreaterThan(100_000);
  expect(inPages.transactions).toBeGreaterThan(20);
  expect(inPages.taken).toBe(0);
});

test('the embedded page’s summaries keep so much of records together; others are read page by page, to the same lines', async () => {
  let transactions = 0;
  const asAccount = ((account, work) => {
    transactions += 1;
    return environment.store.asAccount(account, work);
  }) as typeof environment.store.asAccount;
  // Each takes what its record has, if there was any room.
  const summaryLines = createSummaryLines({ asAccount }, 1);
  const cost = async (lines: AsyncGenerator<string>) => {
    const before = transactions;
    let text = '';
    for await (const line of lines) text += line;
    return {
      text: text.replaceAll(/\["Created","[^"]*"\]/g, ''),
      transactions: transactions - before,
    };
  };
  const slow = summaryLines({ accountId, patientId });
  await slow.next();
  const second = await cost(summaryLines({ accountId, patientId }));
  expect(second.transactions).toBeGreaterThan(20);
  await slow.return(undefined);
  const next = await cost(summaryLines({ accountId, patientId }));
  expect(next.transactions).toBe(2);
  expect(next.text).toBe(second.text);
});

describe('a completed consolidated query', () => {
  test('leads by its webhook to the whole record as valid FHIR', async () => {
    const { event, answer, requestId } = await build({
      conversionType: 'json',
    });
    expect(event).toMatchObject({
      meta: { requestId, data: { visit: '7' } },
      patients: [
        { patientId, status: 'completed', filters: { conversionType: 'json' } },
      ],
    });
    const bundle = answer.json();
    expect(bundle).toMatchObject({
      resourceType: 'Bundle',
      type: 'collection',
    });
    const whole: { resource: { resourceType: string } }[] = bundle.entry;
    expect(whole[0]?.resource.resourceType).toBe('Patient');
    expect(whole.length).toBeGreaterThan(300);
    const delivered = new Set(
      deliveriesOf(sample).flatMap(({ content }) => fhirIssues(content)),
    );
    const issues = new Set(
      whole.flatMap(({ resource }) => fhirIssues(resource)),
    );
    expect([...issues].filter((issue) => !delivered.has(issue))).toEqual([]);
    expect(fhirIssues({ ...bundle, entry: undefined })).toEqual([]);
    expect(
      fhirIssues(event.patients[0]?.bundle?.entry?.[0]?.resource as object),
    ).toEqual([]);
  });

  test('gives only the types and days that were asked for', async () => {
    const { answer, event } = await build({
      conversionType: 'json',
      resources: ['Immunization', 'Observation'],
      dateFrom: '2020-01-01',
      dateTo: '2021-12-31',
    });
    expect(event.patients[0]?.filters).toEqual({
      conversionType: 'json',
      resources: 'Immunization,Observation',
      dateFrom: '2020-01-01',
      dateTo: '2021-12-31',
    });
    const resources = (
      answer.json().entry as { resource: Record<string, string> }[]
    ).map((each) => each.resource);
    const days = resources.map((each) =>
      (each.effectiveDateTime ?? each.occurrenceDateTime ?? '').slice(0, 4),
    );
    expect(new Set(resources.map((each) => each.resourceType))).toEqual(
      new Set(['Immunization', 'Observation']),
    );
    expect(new Set(days)).toEqual(new Set(['2020', '2021']));
  });

  test('as html is a page by itself, which may run and load nothing', async () => {
    const { answer } = await build({ conversionType: 'html' });
    expect(answer.headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline';.*sandbox$/,
    );
    expect(answer.body).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(answer.body).toContain('Kiehn');
    expect(answer.body).toMatch(/<\/html>\n$/);
  });

  test('as pdf is a whole, tagged document', async () => {
    const { answer } = await build({ conversionType: 'pdf' });
    const text = answer.rawPayload.toString('latin1');
    expect(text).toMatch(/^%PDF-1\.7/);
    expect(text).toContain('/MarkInfo');
    expect(text).toMatch(/%%EOF\s*$/);
  });

  test('is built and announced once, however often its step runs', async () => {
    const requestId = await open({
      conversionType: 'json',
      resources: ['Goal'],
    });
    const ends = await Promise.all(
      [1, 2].map(() => builder.build({ accountId, requestId })),
    );
    expect(await builder.build({ accountId, requestId })).toEqual(ends[0]);
    expect(ends[1]).toEqual(ends[0]);
    expect(await builder.fail({ accountId, requestId }, 'too late')).toEqual(
      ends[0],
    );
    await eventOf(requestId);
  });
});

describe('a link to a result', () => {
  test('is refused when it is expired, of another kind, of another account, or its result is past its time', async () => {
    const { attachment, requestId } = await build({
      conversionType: 'json',
      resources: ['Device'],
    });
    const target = { accountId, targetId: requestId };
    const path = (token: string) => `/links/consolidated-result/${token}`;
    const soon = Date.now() + 60_000;
    const sign = (
      kind: 'document' | 'consolidated-result',
      of: typeof target,
      atMs = soon,
    ) => path(signLink(TEST_LINK_KEY, kind, of, atMs));
    expect(
      (await follow(sign('consolidated-result', target, Date.now() - 1)))
        .statusCode,
    ).toBe(410);
    expect((await follow(sign('document', target))).statusCode).toBe(404);
    expect(
      (
        await follow(
          sign('consolidated-result', { ...target, accountId: uuidv7() }),
        )
      ).statusCode,
    ).toBe(404);
    await environment.store.asAccount(accountId, (tx) =>
      sql`update consolidated_query set result_deleted_at = now() where id = ${requestId}`.execute(
        tx.db,
      ),
    );
    expect((await follow(attachment.url)).statusCode).toBe(404);
  });
});

describe('a consolidated query that fails', () => {
  test('says so by its webhook, without a bundle', async () => {
    const requestId = await open({
      conversionType: 'pdf',
      resources: ['Goal'],
    });
    expect(await builder.fail({ accountId, requestId }, 'cannot be')).toEqual({
      state: 'failed',
      reason: 'cannot be',
    });
    const event = await eventOf(requestId);
    expect(event.patients).toEqual([
      expect.objectContaining({
        patientId,
        status: 'failed',
        filters: expect.anything(),
      }),
    ]);
    expect(event.patients[0]).not.toHaveProperty('bundle');
    const query = await environment.store.asAccount(accountId, (tx) =>
      readConsolidatedQuery(tx, requestId),
    );
    expect(query).toMatchObject({ status: 'failed', reason: 'cannot be' });
  });

  test('is gone with its patient', async () => {
    expect(await builder.build({ accountId, requestId: uuidv7() })).toEqual({
      state: 'gone',
    });
  });
});
