import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  buildMediaMetadata,
  buildRegistryResponse,
  buildSubmission,
  readMediaMetadata,
  readSubmission,
  readSubmissionResponse,
  readXml,
  type SubmissionToBuild,
  submittedContentFaults,
} from '../../src/index.ts';
import { childNames, payloadOf } from '../payloads.ts';

const BYTES = Buffer.from('hello');
const CODE = {
  code: '34133-9',
  system: '2.16.840.1.113883.6.1',
  display: 'Summary',
};

const document = (at: number) => ({
  metadata: {
    entryUuid: `urn:uuid:c7af24c4-e889-59b6-b5c0-48f2172e589${at}`,
    uniqueId: `2.999.9.${at}`,
    patientId: 'p1^^^&2.999.5&ISO',
    mimeType: 'text/plain',
    creationTime: '20260101120000',
    size: BYTES.length,
    hash: createHash('sha1').update(BYTES).digest('hex'),
    classCode: CODE,
    typeCode: CODE,
    formatCode: CODE,
  },
  content: { bytes: BYTES },
});

const SUBMISSION: SubmissionToBuild = {
  entryUuid: 'urn:uuid:aaaf24c4-e889-59b6-b5c0-48f2172e5898',
  uniqueId: '2.999.10.1',
  sourceId: '2.999.10',
  patientId: 'p1^^^&2.999.5&ISO',
  submittedAt: new Date('2026-03-01T12:00:00Z'),
  title: 'A referral',
  contentType: CODE,
  authors: [
    {
      persons: ['^Welby^Marcus'],
      institutions: [],
      roles: [],
      specialties: [],
      telecoms: ['^^Internet^welby@direct.example'],
    },
  ],
  intendedRecipients: ['||^^Internet^bob@direct.example'],
  documents: [document(1), document(2)],
};

describe('the metadata of media (ITI-32)', () => {
  const onMedia = {
    ...SUBMISSION,
    documents: [1, 2].map((at) => ({
      metadata: { ...document(at).metadata, uri: `DOC0000${at}.TXT` },
    })),
  };
  const read = (text: string) => readMediaMetadata(readXml(Buffer.from(text)));

  test('come back as they were written, with where each document is', () => {
    const submission = read(buildMediaMetadata(onMedia));

    expect(submission.faults).toEqual([]);
    expect(submission.submissionSets).toMatchObject([
      { uniqueId: '2.999.10.1', title: 'A referral' },
    ]);
    expect(submission.documents).toMatchObject([
      {
        entry: { uniqueId: '2.999.9.1', size: BYTES.length },
        content: { in: 'attachment', reference: 'DOC00001.TXT' },
      },
      { content: { in: 'attachment', reference: 'DOC00002.TXT' } },
    ]);
  });

  test('are refused without where a document is, and without any submission set', () => {
    const without = buildMediaMetadata(onMedia).replaceAll('"URI"', '"other"');
    const codesOf = (text: string) => read(text).faults.map(({ code }) => code);

    expect(codesOf(without)).toEqual(['XDSMissingDocument']);
    expect(codesOf('<html/>')).toEqual(['XDSRepositoryMetadataError']);
  });
});

describe('a submission (ITI-41)', () => {
  test('comes back as it was sent', () => {
    const submission = readSubmission(payloadOf(buildSubmission(SUBMISSION)));

    expect(submission.faults).toEqual([]);
    expect(submission.submissionSets).toMatchObject([
      {
        uniqueId: '2.999.10.1',
        sourceId: '2.999.10',
        patientId: 'p1^^^&2.999.5&ISO',
        submissionTime: { written: '20260301120000' },
        title: 'A referral',
        contentType: CODE,
        authors: SUBMISSION.authors,
        intendedRecipients: SUBMISSION.intendedRecipients,
      },
    ]);
    expect(submission.documents).toMatchObject([
      { entry: { uniqueId: '2.999.9.1' }, content: { in: 'message' } },
      { entry: { uniqueId: '2.999.9.2' }, content: { in: 'message' } },
    ]);
  });

  test('has its objects, and each of their parts, in the order of the schema', () => {
    const [submit, ...documents] = payloadOf(
      buildSubmission(SUBMISSION),
    ).children;
    const objects = submit?.children[0];
    const set = objects?.children.find(
      ({ name }) => name === 'RegistryPackage',
    );

    expect(documents.map(({ name }) => name)).toEqual(['Document', 'Document']);
    expect(childNames(objects)).toEqual([
      'ExtrinsicObject',
      'ExtrinsicObject',
      'RegistryPackage',
      'Classification',
      'Association',
      'Association',
    ]);
    expect(childNames(set)).toEqual([
      'Slot',
      'Slot',
      'Name',
      'Classification',
      'Classification',
      'ExternalIdentifier',
      'ExternalIdentifier',
      'ExternalIdentifier',
    ]);
  });

  test('is refused with two documents of one unique id', () => {
    const submission = readSubmission(
      payloadOf(
        buildSubmission({
          ...SUBMISSION,
          documents: [document(1), document(1)],
        }),
      ),
    );

    expect(submission.faults.map(({ code }) => code)).toEqual([
      'XDSRepositoryDuplicateUniqueIdInMessage',
    ]);
  });

  test('is refused when a document or its metadata are not there', () => {
    const source = String(buildSubmission(SUBMISSION));
    const withoutDocument = source.replace(
      /<xdsb:Document .*?<\/xdsb:Document>/,
      '',
    );
    const withoutMetadata = source.replace(
      /<rim:ExtrinsicObject .*?<\/rim:ExtrinsicObject>/,
      '',
    );
    const codes = (message: string) =>
      readSubmission(payloadOf(message)).faults.map(({ code }) => code);

    expect(codes(withoutDocument)).toEqual(['XDSMissingDocument']);
    expect(codes(withoutMetadata)).toEqual(['XDSMissingDocumentMetadata']);
  });

  test('is refused without a submission set', () => {
    const source = String(buildSubmission(SUBMISSION)).replace(
      /<rim:RegistryPackage .*?<\/rim:RegistryPackage>/,
      '',
    );

    expect(
      readSubmission(payloadOf(source)).faults.map(({ code }) => code),
    ).toEqual(['XDSRepositoryMetadataError']);
  });

  test('is refused with documents of another patient than its own, however the id is written', () => {
    const codesWith = (patientId: string) => {
      const [one = document(1)] = SUBMISSION.documents;
      const metadata = { ...one.metadata, patientId };
      const documents = [{ ...one, metadata }];
      return readSubmission(
        payloadOf(buildSubmission({ ...SUBMISSION, documents })),
      ).faults.map(({ code }) => code);
    };

    expect(codesWith("'p1^^^&urn:oid:2.999.5&ISO'")).toEqual([]);
    expect(codesWith('p2^^^&2.999.5&ISO')).toEqual([
      'XDSPatientIdDoesNotMatch',
    ]);
  });

  test('that has more than documents says so, once for each kind', () => {
    const associations = ['RPLC', 'RPLC', 'XFRM_RPLC', 'HasMember'].map(
      (type) =>
        `<rim:Association associationType="urn:ihe:iti:2007:AssociationType:${type}"/>`,
    );
    const source = String(buildSubmission(SUBMISSION)).replace(
      '</rim:RegistryObjectList>',
      `<rim:RegistryPackage id="folder"/>${associations.join('')}</rim:RegistryObjectList>`,
    );

    expect(readSubmission(payloadOf(source))).toMatchObject({
      faults: [],
      remarks: [
        'PartialFolderContentNotProcessed',
        'PartialReplaceContentNotProcessed',
        'PartialTransformReplaceNotProcessed',
      ],
    });
  });

  test('is refused for bytes that are not those announced', () => {
    const entry = { size: 5, hash: document(1).metadata.hash.toUpperCase() };

    expect(submittedContentFaults(entry, BYTES)).toEqual([]);
    expect(submittedContentFaults({ size: 0, hash: undefined }, BYTES)).toEqual(
      [],
    );
    expect(
      submittedContentFaults(entry, Buffer.from('hullo!')).map(
        ({ code }) => code,
      ),
    ).toEqual(['XDSNonIdenticalSize', 'XDSNonIdenticalHash']);
  });
});

describe('the answer to a submission', () => {
  const read = (...answer: Parameters<typeof buildRegistryResponse>) =>
    readSubmissionResponse(payloadOf(buildRegistryResponse(...answer)));

  test('says that it was taken', () => {
    expect(read('Success').outcome).toBe('accepted');
  });

  test.each([
    ['Failure', 'XDSRepositoryMetadataError', 'our-fault'],
    ['Failure', 'XDSRepositoryBusy', 'again-later'],
    ['Success', 'XDSUnknownPatientId', 'discover-again'],
    ['PartialSuccess', 'XDSRepositoryError', 'failed'],
  ] as const)('says that it was not: %s, %s', (status, code, meaning) => {
    expect(read(status, [{ code, context: '' }])).toMatchObject({
      outcome: 'failed',
      meaning,
    });
  });

  test('that is another message is none', () => {
    expect(readSubmissionResponse(payloadOf('<ok/>')).outcome).toBe('failed');
  });
});
