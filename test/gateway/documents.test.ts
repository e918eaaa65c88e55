import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { webhookEventSchema } from '../../src/contract/events.ts';
import type { SourceType } from '../../src/contract/primitives.ts';
import { findDocumentByName } from '../../src/exchange/delivery/documents/document-store.ts';
import type { Rendering } from '../../src/exchange/delivery/documents/render.ts';
import { createDocumentRenditions } from '../../src/exchange/delivery/documents/renditions.ts';
import { linkedBody } from '../../src/exchange/event-links.ts';
import {
  createLinkMaker,
  signLink,
} from '../../src/exchange/platform/links/signed-link.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import {
  insertDocuments,
  insertSourcePatientIds,
  upsertResources,
} from '../../src/exchange/records/deliveries/delivery-store.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { fhirIssues } from '../support/fhir-issues.ts';
import { closedGate } from '../support/gate.ts';
import {
  createTestGateway,
  newPerson,
  TEST_LINK_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { takeUp } from '../support/take-up.ts';

const [sample] = loadSamplePatients();
if (sample === undefined) throw new Error('no samples');
const CCDA = loadCcda(sample);

let gateway: TestGateway;
let account: TestAccount;
let patientId: string;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  patientId = await addPatient();
});
afterAll(() => gateway.close());

const addPatient = async (): Promise<string> =>
  (
    await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      newPerson(),
    )
  ).json().id;

interface Delivery {
  bytes: string | Buffer;
  contentType?: string;
  kind?: 'page' | 'attachment';
  queryId?: string;
  source?: SourceType;
  /** Of the DocumentReference that names it. */
  reference?: { id: string } & Record<string, unknown>;
  of?: string;
  /** What came in it. */
  resources?: readonly ({ resourceType: string; id: string } & Record<
    string,
    unknown
  >)[];
}

/** Keeps a file as the collection does; returns its name. */
async function deliver(delivery: Delivery): Promise<string> {
  const {
    bytes,
    contentType = 'application/xml',
    kind = 'attachment',
    source = 'hie',
    reference,
  } = delivery;
  const blob = await gateway.blobs.put(
    'document',
    Buffer.from(bytes),
    contentType,
  );
  const id = uuidv7();
  const fileName = `${source}-${id}.xml`;
  await gateway.store.asAccount(account.accountId, async (tx) => {
    await insertDocuments(tx, [
      {
        id,
        patientId: delivery.of ?? patientId,
        queryId: delivery.queryId ?? uuidv7(),
        source,
        kind,
        sourceDocumentId: reference?.id,
        fileName,
        contentType,
        sizeBytes: blob.sizeBytes,
        sha256: Buffer.from(blob.sha256, 'hex'),
        blobRef: blob.ref,
      },
    ]);
    const named = reference && {
      resourceType: 'DocumentReference',
      status: 'current',
      ...reference,
    };
    await upsertResources(
      tx,
      { patientId: delivery.of ?? patientId, source, documentId: id },
      [...(delivery.resources ?? []), ...(named ? [named] : [])].map(
        (resource) => ({
          resourceType: resource.resourceType,
          sourceId: resource.id,
          sha256: blob.sha256,
          json: JSON.stringify(resource),
          revision: '',
        }),
      ),
    );
  });
  return fileName;
}

const urlOf = (
  fileName: string,
  conversionType?: string,
  path = 'document/download-url',
) =>
  account.call(
    'GET',
    `${path}?fileName=${encodeURIComponent(fileName)}${conversionType ? `&conversionType=${conversionType}` : ''}`,
  );
const open = (url: string) =>
  gateway.app.inject({ method: 'GET', url: new URL(url).pathname });
const list = async (of: string, query = '') =>
  (await account.call('GET', `document?patientId=${of}${query}`)).json()
    .documents;

describe('a conversion', () => {
  /**
   * Renditions whose renderer answers once the gate is open, and notes what it
   * was asked.
   */
  const counted = (answer: Rendering | { kind: 'busy' }) => {
    const gate = closedGate();
    const asked: string[] = [];
    const { store, blobs } = gateway;
    const renditions = createDocumentRenditions({
      store,
      blobs,
      renderer: {
        async render(accountId, read) {
          asked.push(`${accountId} ${(await read()).length}`);
          await gate.passed;
          return answer;
        },
        close: async () => undefined,
      },
    });
    return { renditions, gate, asked };
  };
  const stored = (fileName: string) =>
    gateway.store.asAccount(account.accountId, async (tx) => {
      const document = await findDocumentByName(tx, fileName);
      if (document === undefined) throw new Error('not kept');
      return document;
    });

  test('that failed is not tried again at each request, but for its other format', async () => {
    const document = await stored(await deliver({ bytes: CCDA }));
    const { renditions, gate, asked } = counted({
      kind: 'refused',
      reason: 'it took too long',
    });
    gate.open();
    for (let times = 0; times < 3; times++)
      await expect(
        renditions.render(account.accountId, document, 'html'),
      ).rejects.toMatchObject({
        status: 422,
        message: expect.stringContaining('it took too long'),
      });
    expect(asked).toEqual([`${account.accountId} ${CCDA.length}`]);
    await expect(
      renditions.render(account.accountId, document, 'pdf'),
    ).rejects.toMatchObject({
      status: 422,
    });
    expect(asked).toHaveLength(2);
  });

  test('that is under way is joined by equal ones, and kept once', async () => {
    const document = await stored(await deliver({ bytes: CCDA }));
    const { renditions, gate, asked } = counted({
      kind: 'rendered',
      bytes: Buffer.from('<p>'),
    });
    const blobsBefore = await gateway.blobCount();
    const asking = [1, 2, 3].map(() =>
      renditions.render(account.accountId, document, 'html'),
    );
    await expect.poll(() => asked.length).toBe(1);
    gate.open();
    const ids = await Promise.all(asking);
    expect(new Set(ids).size).toBe(1);
    expect([asked.length, (await gateway.blobCount()) - blobsBefore]).toEqual([
      1, 1,
    ]);
    expect(await renditions.render(account.accountId, document, 'html')).toBe(
      ids[0],
    );
  });

  test('for which there is no room now is a 503 with Retry-After, and may be asked for again', async () => {
    const document = await stored(await deliver({ bytes: CCDA }));
    const { renditions, gate, asked } = counted({ kind: 'busy' });
    gate.open();
    for (let times = 0; times < 2; times++)
      await expect(
        renditions.render(account.accountId, document, 'html'),
      ).rejects.toMatchObject({
        status: 503,
        options: { headers: { 'retry-after': '5' } },
      });
    expect(asked).toHaveLength(2);
  });
});

describe('E14', () => {
  test('gives a link to a document as it came, which holds for a minute and needs no key', async () => {
    const fileName = await deliver({ bytes: CCDA });
    const answer = await urlOf(fileName);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    const file = await open(answer.json().url);
    expect(file.statusCode).toBe(200);
    expect(file.rawPayload.equals(CCDA)).toBe(true);
    expect(file.headers).toMatchObject({
      'content-type': 'application/xml',
      'content-disposition': `attachment; filename="${fileName}"`,
      'content-length': String(CCDA.length),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(file.headers['content-security-policy']).toMatch(
      /default-src 'none'.*sandbox$/,
    );
    const token = answer.json().url.split('/').at(-1);
    const expiresAt = Buffer.from(token, 'base64url').readUIntBE(32, 6);
    expect(expiresAt - Date.now()).toBeGreaterThan(50_000);
    expect(expiresAt - Date.now()).toBeLessThanOrEqual(60_000);
  });

  test('gives the source’s answer that meta.source of a resource names, at the published address too', async () => {
    const fileName = await deliver({
      bytes: '{}',
      contentType: 'application/fhir+json',
      kind: 'page',
    });
    const answer = await urlOf(fileName, undefined, 'document/downloadUrl');
    expect((await open(answer.json().url)).body).toBe('{}');
  });

  test.each(['html', 'pdf'])(
    'converts a C-CDA document to %s, once',
    async (format) => {
      const fileName = await deliver({ bytes: CCDA });
      const before = await gateway.blobCount();
      // A machine that is too busy says so, and that it may be asked again.
      let first = await urlOf(fileName, format);
      while (first.statusCode === 503) first = await urlOf(fileName, format);
      expect(first.statusCode, first.body).toBe(200);
      expect((await urlOf(fileName, format)).statusCode).toBe(200);
      expect(await gateway.blobCount()).toBe(before + 1);
      const file = await open(first.json().url);
      expect(file.statusCode).toBe(200);
      expect(file.headers['content-disposition']).toBe(
        `inline; filename="${fileName.replace('.xml', `.${format}`)}"`,
      );
      expect(file.headers['content-security-policy']).toMatch(
        /default-src 'none'/,
      );
      if (format === 'html') {
        expect(file.headers['content-type']).toBe('text/html; charset=utf-8');
        expect(file.body).toContain('<h2>Immunizations</h2>');
      } else {
        expect(file.headers['content-type']).toBe('application/pdf');
        expect(file.rawPayload.subarray(0, 5).toString()).toBe('%PDF-');
      }
    },
  );

  test('keeps a conversion for a day', async () => {
    const fileName = await deliver({ bytes: CCDA });
    const { url } = (await urlOf(fileName, 'html')).json();
    const { store, blobs } = gateway;
    const { recovery } = createDocumentRenditions({ store, blobs });
    expect(await takeUp(recovery, 100)).toBe(0);
    await store.asSystem((tx) =>
      tx.db
        .updateTable('document_rendition')
        .set({ created_at: new Date(Date.now() - 25 * 3_600_000) })
        .where('id', '=', uuidOf(url.split('/').at(-1) ?? ''))
        .execute(),
    );
    expect(await takeUp(recovery, 100)).toBe(1);
    expect((await open(url)).statusCode).toBe(404);
    const noted = await store.asSystem((tx) =>
      tx.db.selectFrom('erasure').selectAll().execute(),
    );
    expect(noted).toMatchObject([
      { kind: 'blob', ref: expect.stringMatching(/^document\//) },
    ]);
  });

  test('says why a document cannot be converted, and that it can be had as it is', async () => {
    const pdf = await deliver({
      bytes: '%PDF-1.7',
      contentType: 'application/pdf',
    });
    expect((await urlOf(pdf, 'html')).json()).toMatchObject({
      status: 400,
      detail: expect.stringContaining(
        'is for XML/CDA files only, and this file is application/pdf',
      ),
    });
    const other = await deliver({ bytes: '<note/>' });
    expect((await urlOf(other, 'pdf')).json()).toMatchObject({
      status: 422,
      detail: expect.stringContaining('it is XML but not a C-CDA document'),
    });
    expect((await urlOf(pdf, 'docx')).statusCode).toBe(400);
  });

  test('knows another account’s files as little as files that do not exist', async () => {
    const fileName = await deliver({ bytes: CCDA });
    const other = await gateway.addAccount();
    const query = `document/download-url?fileName=${fileName}`;
    expect((await other.call('GET', query)).statusCode).toBe(404);
    expect((await urlOf('hie-none.xml')).statusCode).toBe(404);
    expect(
      (await other.call('GET', `document?patientId=${patientId}`)).statusCode,
    ).toBe(404);
    expect(
      (
        await other.call(
          'POST',
          `document/download-url/bulk?patientId=${patientId}`,
        )
      ).statusCode,
    ).toBe(404);
  });

  test('hands out nothing of a document that its source has taken back, not by an older link either', async () => {
    const names = await Promise.all(
      ['back-1', 'back-2', 'stays'].map((id) =>
        deliver({ bytes: CCDA, reference: { id } }),
      ),
    );
    const [retired = '', mistaken = '', other = ''] = names;
    const link: string = (await urlOf(retired)).json().url;
    const converted: string = (await urlOf(retired, 'html')).json().url;
    await gateway.store.asAccount(account.accountId, async (tx) => {
      await sql`with gone as (delete from patient_resource where patient_id = ${patientId} and source_id = 'back-1' returning *)
        insert into retired_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content,
          pack, place, revision, collected_at, reason, query_id, attempt)
        select account_id, patient_id, source, resource_type, source_id, document_id, sha256, content, pack, place, revision,
          collected_at, 'moved', ${uuidv7()}::uuid, 1 from gone`.execute(tx.db);
      await sql`update patient_resource r set content = d.content || '{"docStatus":"entered-in-error"}', pack = null, place = null
        from delivered_resource d where d.patient_id = ${patientId} and d.source_id = 'back-2'
          and r.patient_id = d.patient_id and r.source_id = d.source_id`.execute(
        tx.db,
      );
    });
    const answers = [
      await urlOf(retired),
      await urlOf(mistaken),
      await urlOf(retired, 'html'),
      await open(link),
      await open(converted),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([
      410, 410, 410, 410, 410,
    ]);
    expect(answers[0]?.json()).toMatchObject({
      detail: 'The source has withdrawn this document',
    });
    expect((await urlOf(other)).statusCode).toBe(200);
    const listed: { fileName: string }[] = await list(patientId, '&output=dto');
    const titles = listed.map(({ fileName }) => fileName);
    expect(titles).toContain(other);
    expect(titles).not.toContain(retired);
    expect(titles).not.toContain(mistaken);
  });

  test('refuses links that are expired, changed, of another kind or of another account', async () => {
    const url: string = (await urlOf(await deliver({ bytes: CCDA }))).json()
      .url;
    const token = url.split('/').at(-1) ?? '';
    const targetId = uuidOf(token);
    const sign = (
      kind: 'document' | 'encounter',
      accountId: string,
      expiresAtMs: number,
    ) =>
      open(
        `http://x/links/document/${signLink(TEST_LINK_KEY, kind, { accountId, targetId }, expiresAtMs)}`,
      );
    const soon = Date.now() + 60_000;
    expect(
      (await sign('document', account.accountId, Date.now() - 1)).statusCode,
    ).toBe(410);
    expect((await sign('encounter', account.accountId, soon)).statusCode).toBe(
      404,
    );
    expect(
      (await sign('document', (await gateway.addAccount()).accountId, soon))
        .statusCode,
    ).toBe(404);
    const changed = `${token.slice(0, 10)}${token[10] === 'A' ? 'B' : 'A'}${token.slice(11)}`;
    expect((await open(`http://x/links/document/${changed}`)).statusCode).toBe(
      404,
    );
    expect((await sign('document', account.accountId, soon)).statusCode).toBe(
      200,
    );
  });

  test('lets nothing of a source’s content type into the answer’s headers or run', async () => {
    const html = await deliver({
      bytes: '<script>alert(1)</script>',
      contentType: 'text/html',
    });
    const file = await open((await urlOf(html)).json().url);
    expect(file.headers['content-disposition']).toMatch(/^attachment; /);
    expect(file.headers['content-security-policy']).toMatch(/sandbox$/);
    const odd = await deliver({
      bytes: 'x',
      contentType: 'text/html; charset="x"; boundary=<y>',
    });
    expect(
      (await open((await urlOf(odd)).json().url)).headers['content-type'],
    ).toBe('application/octet-stream');
  });

  test('audits who asked and who read', async () => {
    const of = await addPatient();
    const fileName = await deliver({ bytes: CCDA, of });
    await open((await urlOf(fileName)).json().url);
    const entries = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select(['operation', 'actor', 'outcome'])
        .where('patient_id', '=', of)
        .execute(),
    );
    expect(entries).toEqual(
      expect.arrayContaining([
        {
          operation: 'getDocumentUrl',
          actor: expect.stringMatching(/^key:/),
          outcome: '200',
        },
        { operation: 'readDocument', actor: 'link', outcome: '200' },
      ]),
    );
  });
});

const uuidOf = (token: string): string =>
  Buffer.from(token, 'base64url')
    .subarray(16, 32)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

const CCD = {
  id: 'd1',
  meta: { source: 'hie-page.json' },
  type: {
    coding: [
      {
        system: 'http://loinc.org',
        code: '34133-9',
        display: 'Summarization of episode note',
      },
    ],
  },
  date: '2024-05-06T07:08:09Z',
  author: [{ reference: 'Practitioner/9', display: 'Dr. Ada Ray' }],
  content: [
    {
      attachment: {
        contentType: 'application/xml',
        url: 'Binary/1',
        title: 'Continuity of care',
      },
    },
  ],
};

describe('the list of documents', () => {
  test('has each document as it came last, files of the same content once, no answers of sources', async () => {
    const of = await addPatient();
    await deliver({ of, bytes: 'first version', reference: CCD });
    const queryId = uuidv7();
    await deliver({ of, bytes: 'part one', reference: CCD, queryId });
    await deliver({ of, bytes: 'part two', reference: CCD, queryId });
    const again = await deliver({
      of,
      bytes: 'part two',
      reference: CCD,
      queryId,
    });
    await deliver({ of, bytes: '{}', kind: 'page' });
    const documents = await list(of, '&output=dto');
    expect(documents).toHaveLength(2);
    expect(documents[0]).toEqual({
      id: expect.any(String),
      fileName: again,
      description: 'Continuity of care',
      status: 'current',
      indexed: '2024-05-06T07:08:09Z',
      mimeType: 'application/xml',
      size: 8,
      type: CCD.type,
      source: 'hie',
    });
  });

  test('is valid FHIR that leads to nothing of the source, and names what E14 takes', async () => {
    const of = await addPatient();
    const fileName = await deliver({ of, bytes: CCDA, reference: CCD });
    await deliver({ of, bytes: 'no reference', contentType: 'text/plain' });
    const documents = await list(of);
    expect(documents).toHaveLength(2);
    for (const document of documents) expect(fhirIssues(document)).toEqual([]);
    expect(documents[0]).toMatchObject({
      resourceType: 'DocumentReference',
      subject: { reference: `Patient/${of}` },
      meta: { source: 'hie-page.json' },
      author: [{ display: 'Dr. Ada Ray' }],
      content: [
        {
          attachment: {
            title: fileName,
            contentType: 'application/xml',
            size: CCDA.length,
          },
        },
      ],
    });
    expect(JSON.stringify(documents)).not.toMatch(/Binary|Practitioner/);
    expect(
      (await urlOf(documents[0].content[0].attachment.title)).statusCode,
    ).toBe(200);
  });

  test('is filtered by the documents’ own dates and by words, newest first, undated kept', async () => {
    const of = await addPatient();
    const named = (id: string, date: string | undefined, title: string) =>
      deliver({
        of,
        bytes: id,
        reference: {
          id,
          date,
          content: [{ attachment: { title } }],
          type: { text: 'Note' },
        },
      });
    const old = await named('a', '2020-01-05', 'Discharge summary');
    const recent = await named('b', '2024-02-03T10:00:00Z', 'Radiology report');
    const undated = await named('c', undefined, 'Letter');
    const names = async (query: string) =>
      (await list(of, `&output=dto${query}`)).map(
        ({ fileName }: { fileName: string }) => fileName,
      );
    expect(await names('')).toEqual([recent, old, undated]);
    expect(await names('&dateFrom=2021-01-01')).toEqual([recent, undated]);
    expect(await names('&dateTo=2020-01-05')).toEqual([old, undated]);
    expect(await names('&content=RADIO')).toEqual([recent]);
    expect(await names('&content=note')).toHaveLength(3);
    expect(await names('&content=%25')).toEqual([]);
    expect(await names('&count=1')).toEqual([recent]);
    expect(await names('&count=1&dateTo=2020-01-05')).toEqual([old]);
    const wrong = await account.call(
      'GET',
      `document?patientId=${of}&dateFrom=2024-01-02&dateTo=2024-01-01`,
    );
    expect(wrong.statusCode).toBe(400);
  });
});

describe('meta.source', () => {
  test('of every resource of a record names a file that E14 gives, pages and C-CDA documents alike', async () => {
    const created = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      sample.createBody,
    );
    const of: string = created.json().id;
    const queryId = uuidv7();
    const page = await deliver({
      of,
      queryId,
      kind: 'page',
      bytes: '{"resourceType":"Bundle"}',
      contentType: 'application/fhir+json',
      resources: [
        {
          resourceType: 'Condition',
          id: 'c1',
          subject: { reference: 'Patient/p1' },
          code: { text: 'Asthma' },
          onsetDateTime: '2011-02-03',
        },
      ],
    });
    const subject = { reference: 'Patient/p1' };
    const ccda = await deliver({
      of,
      queryId,
      bytes: CCDA,
      reference: { ...CCD, subject },
    });
    await gateway.store.asAccount(account.accountId, (tx) =>
      insertSourcePatientIds(tx, of, 'hie', ['p1']),
    );
    const { store, blobs } = gateway;
    await createRecordKeeper({
      store,
      blobs,
      converter: createCcdaConverter(),
      noteIncomplete,
    }).merge(account.accountId, of, {
      documentsOf: 'hie',
    });
    const { entry } = (
      await account.call('GET', `patient/${of}/consolidated`)
    ).json();
    const resources: { resourceType: string; meta?: { source?: string } }[] =
      entry.map(({ resource }: { resource: object }) => resource);
    const ownOf = (type: string) =>
      resources.filter(({ resourceType }) => resourceType === type);
    expect(ownOf('Condition').map(({ meta }) => meta?.source)).toContain(page);
    expect(ownOf('Immunization').map(({ meta }) => meta?.source)).toContain(
      ccda,
    );
    const collected = resources.filter(
      ({ resourceType }) => !['Patient', 'Provenance'].includes(resourceType),
    );
    for (const { meta } of collected)
      expect(meta?.source).toEqual(expect.any(String));
    const names = new Set(collected.map(({ meta }) => meta?.source ?? ''));
    for (const name of names)
      expect(
        (await open((await urlOf(name)).json().url)).statusCode,
        name,
      ).toBe(200);
  });
});

describe('bulk document URLs', () => {
  test('go out by a webhook, with links made when it is sent', async () => {
    const of = await addPatient();
    const fileName = await deliver({ of, bytes: 'content', reference: CCD });
    const answer = await account.call(
      'POST',
      `document/download-url/bulk?patientId=${of}`,
    );
    expect(answer.json()).toEqual({
      status: 'processing',
      requestId: expect.any(String),
    });
    const event = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('event')
        .select(['type', 'body', 'patient_id as patientId'])
        .where('request_id', '=', answer.json().requestId)
        .executeTakeFirstOrThrow(),
    );
    expect(JSON.stringify(event.body)).not.toContain('/links/');
    const sent = linkedBody(
      createLinkMaker('http://x', TEST_LINK_KEY),
      account.accountId,
      event,
    );
    expect(webhookEventSchema.parse(sent)).toEqual(sent);
    const [patient] = sent.patients as {
      status: string;
      documents: { fileName: string; url: string }[];
    }[];
    expect(patient).toMatchObject({
      patientId: of,
      status: 'completed',
      documents: [{ fileName, size: 7 }],
    });
    expect((await open(patient?.documents[0]?.url ?? '')).body).toBe('content');
  });

  test('are asked for once under an Idempotency-Key, and tell of no documents too', async () => {
    const of = await addPatient();
    const ask = () =>
      account.call(
        'POST',
        `document/download-url/bulk?patientId=${of}`,
        undefined,
        {
          'idempotency-key': 'k1',
        },
      );
    expect((await ask()).json()).toEqual((await ask()).json());
    const events = await gateway.store.asAccount(account.accountId, (tx) =>
      tx.db
        .selectFrom('event')
        .select('body')
        .where('patient_id', '=', of)
        .execute(),
    );
    expect(events).toMatchObject([
      { body: { patients: [{ status: 'completed', documents: [] }] } },
    ]);
  });
});
