import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { listDocuments } from '../../src/exchange/delivery/documents/document-store.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import {
  completenessLines,
  completenessMeta,
  readRecordCompleteness,
} from '../../src/exchange/records/reading/completeness.ts';
import {
  type ConsolidatedFilter,
  readConsolidated,
} from '../../src/exchange/records/reading/read-consolidated.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import type { Attachment } from '../../src/exchange/sources/connectors/connector.ts';
import {
  BlobNotFoundError,
  type BlobStore,
} from '../../src/shared/blobs/blob-store.ts';
import { queryTest } from '../support/fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { page, sourceOf } from '../support/source-pages.ts';

const test = queryTest.extend(
  'querying',
  { scope: 'file' },
  async ({ environment, account }) => {
    /** One query of the exchange network that brings these documents. */
    async function bring(
      patientId: string,
      attachments: Attachment[],
      blobs: BlobStore = environment.blobs,
    ) {
      const requestId = await account.addQuery(patientId, ['hie']);
      const { askSource } = account.activities(
        sourceOf([
          page(
            [
              {
                resourceType: 'Procedure',
                id: 'native',
                status: 'completed',
                subject: { reference: 'Patient/p1' },
                code: {
                  coding: [{ system: 'http://snomed.info/sct', code: '1' }],
                },
                performedDateTime: '2024-05-01',
              },
            ],
            { patientIds: ['p1'], attachments },
          ),
        ]),
        { blobs },
      );
      const answer = await runActivity(
        askSource,
        account.step(requestId, 'hie'),
      );
      const { told, status } = await account.outcome(requestId);
      return {
        answer,
        status,
        told: told.filter((line) => line.startsWith('incomplete')),
      };
    }
    const read = async (
      patientId: string,
      filter: ConsolidatedFilter = { types: ['Procedure'] },
    ) => {
      const page = await account.inTx((tx) =>
        readConsolidated(tx, patientId, filter, undefined, 100),
      );
      return page.resources;
    };
    const codesOf = async (patientId: string) =>
      (await read(patientId))
        .map(
          ({ content }) => JSON.stringify(content).match(/"code":"(\d+)"/)?.[1],
        )
        .sort();
    const conversions = (patientId: string) =>
      account.inTx((tx) =>
        tx.db
          .selectFrom('document_conversion')
          .select(['outcome', 'reason', 'resources'])
          .where('patient_id', '=', patientId)
          .orderBy('converted_at')
          .execute(),
      );
    /**
     * As a version left it that took no notice of `negationInd`, and made a
     * second resource of nothing.
     */
    const asOlderRulesDid = (patientId: string) =>
      account.inTx(async (tx) => {
        await sql`update document_conversion set rules = 0 where patient_id = ${patientId}`.execute(
          tx.db,
        );
        await sql`update patient_resource r set sha256 = '\\x00', content = d.content || '{"status":"completed"}', pack = null, place = null
        from delivered_resource d where d.patient_id = ${patientId} and d.converted_from is not null
          and (r.patient_id, r.source, r.resource_type, r.source_id) = (d.patient_id, d.source, d.resource_type, d.source_id)`.execute(
          tx.db,
        );
        await sql`insert into patient_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256,
          content, converted_from)
        select account_id, patient_id, source, resource_type, 'invented', document_id, '\\x01',
          jsonb_set(content, '{code,coding,0,code}', '"666"'), converted_from
        from delivered_resource where patient_id = ${patientId} and converted_from is not null limit 1`.execute(
          tx.db,
        );
      });
    const merge = (patientId: string, blobs = environment.blobs) =>
      createRecordKeeper({
        store: environment.store,
        blobs,
        converter: createCcdaConverter(),
        noteIncomplete,
      }).merge(account.accountId, patientId);
    const statuses = async (patientId: string) =>
      (await read(patientId))
        .map(({ content }) =>
          JSON.stringify(content).match(
            /"status":"([^"]+)".*"code":"(\d+)"|"code":"(\d+)".*"status":"([^"]+)"/,
          ),
        )
        .map(
          (match) => `${match?.[2] ?? match?.[3]} ${match?.[1] ?? match?.[4]}`,
        )
        .sort();
    const timelineOf = (patientId: string) =>
      account.inTx((tx) =>
        tx.db
          .selectFrom('network_query_timeline as t')
          .innerJoin('network_query as q', 'q.id', 't.query_id')
          .select('t.message')
          .where('q.patient_id', '=', patientId)
          .execute(),
      );
    return {
      ...account,
      bring,
      read,
      codesOf,
      conversions,
      asOlderRulesDid,
      merge,
      statuses,
      timelineOf,
    };
  },
);

/**
 * A document about the patient of the environment, with procedures of these
 * SNOMED codes.
 */
const document = (codes: string[], { given = 'Tamica', doctype = '' } = {}) =>
  Buffer.from(`<?xml version="1.0"?>${doctype}<ClinicalDocument xmlns="urn:hl7-org:v3"><id root="1.2.3"/>
<recordTarget><patientRole><patient><name><given>${given}</given><family>Murazik</family></name>
<administrativeGenderCode code="F"/><birthTime value="19800401"/></patient></patientRole></recordTarget>
<component><structuredBody><component><section><templateId root="2.16.840.1.113883.10.20.22.2.7.1"/>
${codes.map((code) => `<entry><procedure><id root="1.2.3" extension="${code}"/><code code="${code}" codeSystem="2.16.840.1.113883.6.96"/><effectiveTime value="20240501"/></procedure></entry>`).join('')}
</section></component></structuredBody></component></ClinicalDocument>`);

const attachment = (
  bytes: Buffer,
  sourceDocumentId = 'd1',
  contentType = 'text/xml',
): Attachment => ({
  sourceDocumentId,
  contentType,
  bytes,
});

describe('a C-CDA document', () => {
  test('is part of the record when its source’s end is announced, and what the source also tells is the same', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    const { status, told } = await querying.bring(patientId, [
      attachment(document(['1', '2'])),
    ]);
    expect([status, told]).toEqual(['completed', []]);
    const procedures = await querying.read(patientId);
    expect(
      procedures
        .map(({ origins }) => origins.map(({ isConverted }) => isConverted))
        .sort(),
    ).toEqual([[false, true], [true]]);
    const converted = procedures.find(({ origins }) => origins.length === 1);
    expect(converted?.content.meta?.source).toMatch(/^hie-[0-9a-f-]{36}\.xml$/);
    expect(await querying.conversions(patientId)).toEqual([
      { outcome: 'converted', reason: null, resources: 2 },
    ]);
    const standing = await querying.inTx((tx) =>
      readRecordCompleteness(tx, patientId),
    );
    expect(completenessLines(standing).join()).toContain(
      '3 resources (2 of them read from documents) and 1 document',
    );
    const counts = JSON.stringify(completenessMeta(standing));
    expect(counts).toContain('{"url":"fromDocuments","valueUnsignedInt":2}');
  });

  test('whose body is a file leaves that file among the documents, and the record names it', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    const pdf = Buffer.from('%PDF-1.4 a scan').toString('base64');
    const scanned = Buffer.from(
      document([])
        .toString()
        .replace(
          /<structuredBody>.*<\/structuredBody>/s,
          `<nonXMLBody><text mediaType="application/pdf" representation="B64">${pdf}</text></nonXMLBody>`,
        ),
    );
    await querying.bring(patientId, [attachment(scanned)]);
    await querying.merge(patientId);
    const files = await querying.inTx((tx) => listDocuments(tx, patientId));
    expect(
      files.map(({ contentType, reference }) => [
        contentType,
        reference?.resourceType,
      ]),
    ).toEqual(
      expect.arrayContaining([
        ['text/xml', undefined],
        ['application/pdf', 'DocumentReference'],
      ]),
    );
    expect(files).toHaveLength(2);
    const [named] = await querying.read(patientId, {
      types: ['DocumentReference'],
    });
    expect(JSON.stringify(named?.content)).toContain('"size":15');
    expect(JSON.stringify(named?.content)).not.toContain(pdf);

    // It goes with what it was in.
    await querying.bring(patientId, [attachment(document(['1']))]);
    const after = await querying.inTx((tx) => listDocuments(tx, patientId));
    expect(after.map(({ contentType }) => contentType)).toEqual(['text/xml']);
  });

  test('that comes again changes nothing; a newer version of it takes its place', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.bring(patientId, [attachment(document(['1', '2']))]);
    const before = await querying.read(patientId);
    await querying.bring(patientId, [attachment(document(['1', '2']))]);
    expect(await querying.read(patientId)).toEqual(before);
    await querying.bring(patientId, [attachment(document(['3']))]);
    expect(await querying.codesOf(patientId)).toEqual(['1', '3']);
    expect(
      (await querying.conversions(patientId)).map(({ reason }) => reason),
    ).toEqual([null, 'as before', null]);
  });

  test.for<[string, Buffer, string]>([
    [
      'of somebody else',
      document(['2'], { given: 'Other' }),
      'it names another person',
    ],
    [
      'with a DTD',
      document(['2'], { doctype: '<!DOCTYPE x>' }),
      'it has a document type definition',
    ],
    ['that is cut off', document(['2']).subarray(0, -60), 'it is truncated'],
    [
      'of 50 MB',
      Buffer.concat([document(['2']), Buffer.alloc(50_000_000, ' ')]),
      'it has 50 MB; at most 10 MB are converted',
    ],
  ])(
    '%s is kept, not converted, and that is told; the query completes',
    async ([_, bytes, reason], { querying }) => {
      const patientId = await querying.addPatient();
      const { status, told } = await querying.bring(patientId, [
        attachment(bytes),
      ]);
      expect(status).toBe('completed');
      expect(told).toEqual([
        `incomplete: A document is kept but was not converted: ${reason}`,
      ]);
      expect(await querying.codesOf(patientId)).toEqual(['1']);
      const kept = await querying.inTx((tx) =>
        tx.db
          .selectFrom('document')
          .select('size_bytes')
          .where('patient_id', '=', patientId)
          .where('kind', '=', 'attachment')
          .execute(),
      );
      expect(kept).toEqual([{ size_bytes: bytes.length }]);
    },
  );

  test('is told from what is none', async ({ querying }) => {
    const patientId = await querying.addPatient();
    const { told } = await querying.bring(patientId, [
      attachment(Buffer.from('<svg/>'), 'd1', 'image/svg+xml'),
      attachment(Buffer.from('%PDF'), 'd2', 'application/pdf'),
      attachment(document(['2']), 'd3', 'application/octet-stream'),
      attachment(Buffer.from('Feels better.'), 'd4', 'text/plain'),
      attachment(
        Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
        'd5',
        'application/octet-stream',
      ),
    ]);
    expect(told).toEqual([]);
    expect(
      (await querying.conversions(patientId))
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(['converted', 'not-cda', 'not-cda', 'not-cda']);
    expect(await querying.codesOf(patientId)).toEqual(['1', '2']);
  });
});

test('a plain-text note is not read again to find out that it is no C-CDA document', async ({
  querying,
}) => {
  const patientId = await querying.addPatient();
  const readRefs: string[] = [];
  const { blobs } = querying;
  const watched: BlobStore = {
    ...blobs,
    getRange: (ref, ...range) =>
      blobs.getRange(ref, ...range).finally(() => readRefs.push(ref)),
    read: (ref) => blobs.read(ref).finally(() => readRefs.push(ref)),
  };
  const notes = ['d1', 'd2', 'd3'].map((id) =>
    attachment(Buffer.from(`Feels better. ${id}`), id, 'text/plain'),
  );
  const markedUp = attachment(
    Buffer.from('Less than <5 mg'),
    'd4',
    'text/plain',
  );
  await querying.bring(patientId, [...notes, markedUp], watched);
  expect(new Set(readRefs).size).toBe(1);
  expect(
    (await querying.conversions(patientId)).map(({ outcome }) => outcome),
  ).toEqual(Array(4).fill('not-cda'));
});

describe('a document that older rules converted', () => {
  const negated = (code: string) =>
    Buffer.from(
      document([code])
        .toString()
        .replace('<procedure>', '<procedure negationInd="true">'),
    );

  test('is converted again before the record is read, and what they made of it is replaced', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.bring(patientId, [attachment(negated('2'))]);
    await querying.bring(patientId, [attachment(negated('2'))]);
    const right = ['1 completed', '2 not-done'];
    expect(await querying.statuses(patientId)).toEqual(right);
    await querying.asOlderRulesDid(patientId);
    const before = await querying.timelineOf(patientId);
    await querying.merge(patientId);
    expect(await querying.statuses(patientId)).toEqual(right);
    expect(await querying.timelineOf(patientId)).toEqual(before);
    expect(await querying.merge(patientId)).toEqual({ changed: 0 });
    expect(
      (await querying.conversions(patientId)).map(({ outcome }) => outcome),
    ).not.toContain('failed');
  });

  test('leaves the record when its bytes are gone, which is said, and returns with them', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.bring(patientId, [attachment(negated('2'))]);
    await querying.asOlderRulesDid(patientId);
    const gone = Object.assign(Object.create(querying.blobs), {
      read: async (ref: string) => Promise.reject(new BlobNotFoundError(ref)),
    });
    await querying.merge(patientId, gone);
    expect(await querying.statuses(patientId)).toEqual(['1 completed']);
    const standing = await querying.inTx((tx) =>
      readRecordCompleteness(tx, patientId),
    );
    expect(standing.unread).toMatchObject([
      { source: 'hie', reason: 'its content is no longer stored' },
    ]);
    await querying.merge(patientId);
    expect(await querying.statuses(patientId)).toEqual([
      '1 completed',
      '2 not-done',
    ]);
  });

  test('of which a newer version cannot be read stays, as today’s rules read it', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.bring(patientId, [attachment(negated('2'))]);
    await querying.bring(patientId, [
      attachment(document(['3']).subarray(0, -60)),
    ]);
    await querying.asOlderRulesDid(patientId);
    await querying.merge(patientId);
    expect(await querying.statuses(patientId)).toEqual([
      '1 completed',
      '2 not-done',
    ]);
  });

  test('is converted from all of its files, also when a crash left only some of them converted', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.bring(patientId, [
      attachment(document(['2'])),
      attachment(document(['3'])),
    ]);
    await querying.inTx((tx) =>
      sql`delete from document_conversion where document_id = (
        select max(document_id::text)::uuid from document_conversion where patient_id = ${patientId})`.execute(
        tx.db,
      ),
    );
    await querying.bring(patientId, []);
    expect(await querying.codesOf(patientId)).toEqual(['1', '2', '3']);
  });
});

describe('a filter', () => {
  test('takes what falls into its days, and what has no date', async ({
    querying,
  }) => {
    const patientId = await querying.addPatient();
    await querying.bring(patientId, [attachment(document(['2']))]);
    const ids = async (filter: ConsolidatedFilter) =>
      (await querying.read(patientId, filter)).map(
        ({ resourceType }) => resourceType,
      );
    expect(await ids({})).toEqual(['Patient', 'Procedure', 'Procedure']);
    expect(await ids({ dateFrom: '2024-05-01', dateTo: '2024-05-01' })).toEqual(
      ['Patient', 'Procedure', 'Procedure'],
    );
    expect(await ids({ dateFrom: '2024-05-02' })).toEqual(['Patient']);
    expect(await ids({ dateTo: '2024-04-30' })).toEqual(['Patient']);
    expect(await ids({ types: ['Observation'] })).toEqual([]);
    expect(await ids({ types: ['Patient'], dateFrom: '2030-01-01' })).toEqual([
      'Patient',
    ]);
  });
});
