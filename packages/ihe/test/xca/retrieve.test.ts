import { describe, expect, test } from 'vitest';
import {
  accountForRetrieval,
  buildRetrieve,
  buildRetrieveResponse,
  readDocumentContent,
  readRetrieve,
  readRetrieveResponse,
} from '../../src/index.ts';
import { childNames, payloadOf } from '../payloads.ts';

const IDS = {
  uniqueId: '2.999.9.1',
  repository: '2.999.8',
  homeCommunity: 'urn:oid:2.999.1',
};

const HELLO = Buffer.from('hello');

describe("ITI-39's question", () => {
  test('names each document as it came, with the home community as a URN', () => {
    const asked = [
      { ...IDS, homeCommunity: '2.999.1' },
      { ...IDS, uniqueId: '<YWJj+/=>', homeCommunity: undefined },
    ];

    expect(readRetrieve(payloadOf(buildRetrieve(asked)))).toEqual([
      IDS,
      { ...IDS, uniqueId: '<YWJj+/=>', homeCommunity: undefined },
    ]);
  });
});

describe("ITI-39's answer", () => {
  test('has the bytes, or where they are', () => {
    const answer = readRetrieveResponse(
      payloadOf(
        buildRetrieveResponse({
          status: 'Success',
          documents: [
            { ...IDS, mimeType: 'text/plain', content: { bytes: HELLO } },
            {
              ...IDS,
              mimeType: 'text/xml',
              content: { contentId: 'd 1@urn:ihe' },
            },
          ],
        }),
      ),
    );

    expect(answer).toMatchObject({
      outcome: 'complete',
      documents: [
        { ...IDS, mimeType: 'text/plain', content: { in: 'message' } },
        {
          content: { in: 'attachment', reference: 'cid:d%201@urn%3Aihe' },
        },
      ],
    });
    expect(answer.documents[0]?.content).toEqual({
      in: 'message',
      bytes: HELLO,
    });
  });

  test('has the new ids of a document on demand, in the order of the schema', () => {
    const body = payloadOf(
      buildRetrieveResponse({
        status: 'Success',
        documents: [
          {
            ...IDS,
            newRepository: '2.999.8',
            newUniqueId: '2.999.9.1.7',
            mimeType: 'text/plain',
            content: { bytes: HELLO },
          },
        ],
      }),
    );

    expect(childNames(body)).toEqual(['RegistryResponse', 'DocumentResponse']);
    expect(childNames(body.children[1])).toEqual([
      'HomeCommunityId',
      'RepositoryUniqueId',
      'DocumentUniqueId',
      'NewRepositoryUniqueId',
      'NewDocumentUniqueId',
      'mimeType',
      'Document',
    ]);
    expect(readRetrieveResponse(body).documents).toMatchObject([
      { newRepository: '2.999.8', newUniqueId: '2.999.9.1.7' },
    ]);
  });
});

describe('the content of a document', () => {
  const content = (text: string) =>
    readDocumentContent(payloadOf(`<Document>${text}</Document>`));

  test.each([
    'aGVsbG8=',
    'aGVs\nbG8=',
    'aGVs&#13;\nbG8=',
    '  aGVsbG8=  ',
    'aGVsbG8',
  ])('is base64 in any form: %j', (text) => {
    expect(content(text)).toEqual({ in: 'message', bytes: HELLO });
  });

  test('may be in CDATA', () => {
    expect(content('<![CDATA[aGVsbG8=]]>')).toEqual({
      in: 'message',
      bytes: HELLO,
    });
  });

  test.each([
    '&lt;ClinicalDocument/&gt;',
    'plain text, not encoded',
    'aGVsbG8=aGVs',
    'a',
    '...',
  ])('that is not base64 is not guessed: %s', (text) => {
    expect(content(text)).toEqual({ in: 'nowhere', reason: 'not-base64' });
  });

  test('that is empty is none, not one of 0 bytes', () => {
    expect(content('  ')).toEqual({ in: 'nowhere', reason: 'empty' });
    expect(readDocumentContent(undefined)).toEqual({
      in: 'nowhere',
      reason: 'empty',
    });
  });

  test('may be a reference written as text', () => {
    expect(content('cid:test1.txt')).toEqual({
      in: 'attachment',
      reference: 'cid:test1.txt',
    });
  });
});

describe('a document is counted as the one asked for', () => {
  const document = (homeCommunity: string | undefined) => ({
    ...IDS,
    homeCommunity,
    newUniqueId: undefined,
    newRepository: undefined,
    mimeType: undefined,
    content: { in: 'message', bytes: HELLO } as const,
  });

  test.each([undefined, '', '2.999.1', 'urn:oid:2.999.77'])(
    'though its community is %s',
    (homeCommunity) => {
      const account = accountForRetrieval([IDS], [document(homeCommunity)]);

      expect(account).toMatchObject({
        received: [{ asked: IDS, document: { homeCommunity } }],
        missing: [],
        unasked: [],
      });
    },
  );

  test('of each community, when two have one unique id', () => {
    const other = { ...IDS, homeCommunity: 'urn:oid:2.999.2' };
    const { received } = accountForRetrieval(
      [IDS, other],
      [document('2.999.2'), document('2.999.1')],
    );

    expect(
      received.map((each) => [
        each.asked.homeCommunity,
        each.document.homeCommunity,
      ]),
    ).toEqual([
      ['urn:oid:2.999.1', '2.999.1'],
      ['urn:oid:2.999.2', '2.999.2'],
    ]);
  });
});

const written = (status: string, documents: string) =>
  readRetrieveResponse(
    payloadOf(
      `<RetrieveDocumentSetResponse xmlns="urn:ihe:iti:xds-b:2007"><RegistryResponse xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:rs:3.0" status="${status}"/>${documents}</RetrieveDocumentSetResponse>`,
    ),
  );

const response = (uniqueId: string, content = 'aGVsbG8=') =>
  `<DocumentResponse><RepositoryUniqueId>2.999.8</RepositoryUniqueId><DocumentUniqueId>${uniqueId}</DocumentUniqueId><Document>${content}</Document></DocumentResponse>`;

describe('an answer of the field', () => {
  test('under Success with a document that has no content has a gap', () => {
    expect(written('Success', response('1') + response('2', '')).outcome).toBe(
      'incomplete',
    );
    expect(written('Success', response('1', 'not base64!'))).toMatchObject({
      outcome: 'failed',
      meaning: 'document-missing',
    });
  });

  test('without documents and errors under PartialSuccess has failed', () => {
    expect(written('PartialSuccess', '').outcome).toBe('failed');
  });

  test('without a RegistryResponse is not taken for complete', () => {
    const answer = readRetrieveResponse(
      payloadOf(
        `<RetrieveDocumentSetResponse xmlns="urn:ihe:iti:xds-b:2007">${response('1')}</RetrieveDocumentSetResponse>`,
      ),
    );

    expect(answer).toMatchObject({
      outcome: 'incomplete',
      remarks: ['unknown-status'],
    });
  });

  test('is counted against what was asked', () => {
    const asked = [
      { ...IDS, uniqueId: '1' },
      { ...IDS, uniqueId: 'urn:uuid:A13EAFB9-EC9E-46CD-9E92-9A19BE79B9E8' },
      { ...IDS, uniqueId: '3' },
      { ...IDS, uniqueId: '4' },
    ];
    const { documents } = written(
      'Success',
      response('a13eafb9-ec9e-46cd-9e92-9a19be79b9e8') +
        response('1') +
        response('1') +
        response('3', '') +
        response('stranger'),
    );
    const account = accountForRetrieval(asked, documents);

    expect(account.received.map((each) => each.asked.uniqueId)).toEqual([
      asked[0]?.uniqueId,
      asked[1]?.uniqueId,
    ]);
    expect(account.missing.map(({ uniqueId }) => uniqueId)).toEqual(['3', '4']);
    expect(account.unasked.map(({ uniqueId }) => uniqueId)).toEqual([
      '1',
      'stranger',
    ]);
  });
});
