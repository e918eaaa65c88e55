import { describe, expect, test } from 'vitest';
import {
  attributeOf,
  buildFindDocuments,
  buildFindDocumentsResponse,
  type DocumentMetadata,
  descendantsNamed,
  FIND_DOCUMENTS,
  readDocumentQuery,
  readFindDocumentsResponse,
} from '../../src/index.ts';
import { EBXML_RIM } from '../../src/namespaces.ts';
import { childNames, payloadOf } from '../payloads.ts';

const ENTRY: DocumentMetadata = {
  entryUuid: 'urn:uuid:c7af24c4-e889-59b6-b5c0-48f2172e5898',
  uniqueId: '{YWJj+/=}',
  patientId: "O'Hara^^^&2.999.5&ISO",
  mimeType: 'text/xml',
  creationTime: '20260101120000',
  homeCommunity: '2.999.1',
  repository: '2.999.8',
  availability: 'Approved',
  title: 'Summary & <more>',
  language: 'en-US',
  serviceStart: '20251201',
  serviceStop: '20251224',
  size: 5,
  hash: 'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d',
  sourcePatientInfo: ['PID-5|Moore^Ann'],
  authors: [
    {
      persons: ['^Welby^Marcus'],
      institutions: ['General Hospital'],
      roles: [],
      specialties: [],
      telecoms: [],
    },
  ],
  classCode: {
    code: '34133-9',
    system: '2.16.840.1.113883.6.1',
    display: 'Summary',
  },
  typeCode: {
    code: '34133-9',
    system: '2.16.840.1.113883.6.1',
    display: 'Summary',
  },
  formatCode: {
    code: 'urn:ihe:pcc:xphr:2007',
    system: '1.3.6.1.4.1.19376.1.2.3',
    display: 'XPHR',
  },
  facilityType: {
    code: 'OF',
    system: '2.16.840.1.113883.5.111',
    display: 'Office',
  },
  practiceSetting: {
    code: '394802001',
    system: '2.16.840.1.113883.6.96',
    display: 'General',
  },
  confidentiality: [
    { code: 'N', system: '2.16.840.1.113883.5.25', display: 'Normal' },
  ],
};

describe("ITI-38's question", () => {
  const QUESTION = {
    patient: { id: "O'Ha^ra", authority: '2.999.5' },
    homeCommunity: '2.999.1',
  };

  test('comes back as it was asked', () => {
    const request = readDocumentQuery(
      payloadOf(buildFindDocuments({ ...QUESTION, includeOnDemand: true })),
    );

    expect(request).toMatchObject({
      queryId: FIND_DOCUMENTS,
      isFindDocuments: true,
      homeCommunity: 'urn:oid:2.999.1',
      returnType: 'LeafClass',
      patient: QUESTION.patient,
      wantsStable: true,
      wantsOnDemand: true,
    });
  });

  test('has dates only if they are asked for, in UTC', () => {
    const slotsOf = (question: Parameters<typeof buildFindDocuments>[0]) =>
      readDocumentQuery(payloadOf(buildFindDocuments(question))).slots;

    expect([...slotsOf(QUESTION).keys()]).toEqual([
      '$XDSDocumentEntryPatientId',
      '$XDSDocumentEntryStatus',
      '$XDSDocumentEntryType',
    ]);
    expect(
      slotsOf({
        ...QUESTION,
        created: { from: new Date('2020-01-01T00:00:00Z') },
      }).get('$XDSDocumentEntryCreationTimeFrom'),
    ).toEqual(['20200101000000']);
  });

  test('without a type asks for stable entries', () => {
    const request = readDocumentQuery(
      payloadOf(
        `<q:AdhocQueryRequest xmlns:q="urn:oasis:names:tc:ebxml-regrep:xsd:query:3.0"><AdhocQuery xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0" id="${FIND_DOCUMENTS}"/></q:AdhocQueryRequest>`,
      ),
    );

    expect(request).toMatchObject({
      wantsStable: true,
      wantsOnDemand: false,
      homeCommunity: undefined,
      patient: undefined,
    });
  });
});

describe("ITI-38's answer", () => {
  test('names entries without describing them, for who asks for references', () => {
    const answer = payloadOf(
      buildFindDocumentsResponse({
        status: 'Success',
        entries: [ENTRY],
        referencesOnly: true,
      }),
    );

    const references = descendantsNamed(answer, EBXML_RIM, 'ObjectRef');

    expect(
      references.map((each) => [
        attributeOf(each, 'id'),
        attributeOf(each, 'home'),
      ]),
    ).toEqual([[ENTRY.entryUuid, 'urn:oid:2.999.1']]);
    expect(readFindDocumentsResponse(answer)).toMatchObject({
      entries: [],
      remarks: ['references-only'],
    });
  });

  const read = (...answer: Parameters<typeof buildFindDocumentsResponse>) =>
    readFindDocumentsResponse(payloadOf(buildFindDocumentsResponse(...answer)));

  test('has each fact of an entry as it was stated', () => {
    const { entries, ...answer } = read({
      status: 'Success',
      entries: [ENTRY],
    });

    expect(answer).toMatchObject({ outcome: 'complete', status: 'Success' });
    expect(entries).toMatchObject([
      {
        entryUuid: ENTRY.entryUuid,
        uniqueId: '{YWJj+/=}',
        homeCommunity: 'urn:oid:2.999.1',
        repository: '2.999.8',
        isOnDemand: false,
        availability: 'Approved',
        patientId: "O'Hara^^^&2.999.5&ISO",
        patient: { id: "O'Hara", authority: '2.999.5' },
        mimeType: 'text/xml',
        title: 'Summary & <more>',
        language: 'en-US',
        creationTime: { instant: '2026-01-01T12:00:00.000Z' },
        serviceStart: { date: '2025-12-01' },
        serviceStop: { date: '2025-12-24' },
        size: 5,
        hash: ENTRY.hash,
        sourcePatientInfo: ENTRY.sourcePatientInfo,
        authors: ENTRY.authors,
        classCode: ENTRY.classCode,
        typeCode: ENTRY.typeCode,
        formatCode: ENTRY.formatCode,
        facilityType: ENTRY.facilityType,
        practiceSetting: ENTRY.practiceSetting,
        confidentiality: ENTRY.confidentiality,
        remarks: [],
      },
    ]);
  });

  test("has an entry's parts in the order of the schema", () => {
    const body = payloadOf(
      buildFindDocumentsResponse({
        status: 'PartialSuccess',
        entries: [ENTRY],
        faults: [{ code: 'XDSRegistryError', context: 'Some are missing' }],
      }),
    );
    const [errors, objects] = body.children;
    const [entry] = objects?.children ?? [];
    const parts = childNames(entry);

    expect([errors?.name, objects?.name]).toEqual([
      'RegistryErrorList',
      'RegistryObjectList',
    ]);
    expect(parts).toEqual(
      parts.toSorted(
        (left, right) => ORDER.indexOf(left) - ORDER.indexOf(right),
      ),
    );
  });

  test('without a document may be complete', () => {
    expect(read({ status: 'Success', entries: [] }).outcome).toBe('complete');
  });

  test('with a warning is no less complete', () => {
    const answer = read({
      status: 'Success',
      entries: [ENTRY],
      faults: [
        { code: 'XDSRegistryError', context: 'slow', severity: 'Warning' },
      ],
    });

    expect(answer).toMatchObject({
      outcome: 'complete',
      problems: [{ severity: 'Warning' }],
    });
  });

  test('with an error beside documents has a gap, whatever its status says', () => {
    const faults = [
      {
        code: 'XDSUnavailableCommunity',
        context: '',
        location: 'urn:oid:2.999.3',
      },
    ];

    for (const status of ['Success', 'PartialSuccess', 'Failure'] as const) {
      expect(read({ status, entries: [ENTRY], faults })).toMatchObject({
        outcome: 'incomplete',
        problems: [{ meaning: 'again-later', homeCommunity: '2.999.3' }],
      });
    }
  });

  test.each([
    ['PartialSuccess', 'without documents or errors', []],
    ['Failure', 'without an error', []],
    ['Success', 'with errors and nothing else', ['XDSRegistryError']],
  ] as const)('has failed: %s %s', (status, _, codes) => {
    const faults = codes.map((code) => ({ code, context: '' }));

    expect(read({ status, entries: [], faults })).toMatchObject({
      outcome: 'failed',
      meaning: 'failed',
    });
  });
});

const ORDER = [
  'Slot',
  'Name',
  'Description',
  'Classification',
  'ExternalIdentifier',
];

const written = (status: string, objects: string) =>
  readFindDocumentsResponse(
    payloadOf(
      `<AdhocQueryResponse xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:query:3.0" status="${status}"><RegistryObjectList xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0">${objects}</RegistryObjectList></AdhocQueryResponse>`,
    ),
  );

const slot = (name: string, ...values: string[]) =>
  `<Slot name="${name}"><ValueList>${values.map((value) => `<Value>${value}</Value>`).join('')}</ValueList></Slot>`;

describe('an answer of the field', () => {
  test('with a bare status is understood', () => {
    expect(written('Success', '').outcome).toBe('complete');
    expect(written('Error', '')).toMatchObject({
      status: 'Failure',
      outcome: 'failed',
    });
    expect(written('', '')).toMatchObject({
      outcome: 'failed',
      remarks: ['unknown-status'],
    });
  });

  test('with an entry without ids, and with dirt in its slots, says so', () => {
    const { entries } = written(
      'Success',
      `<ExtrinsicObject id="d1" mimeType="" home="" status="Active">${slot('size', 'large')}${slot('creationTime', '2011111725448')}${slot('hash', 'AAF4C61D')}${slot('serviceStartTime')}</ExtrinsicObject>`,
    );

    expect(entries).toMatchObject([
      {
        uniqueId: undefined,
        availability: 'Active',
        size: undefined,
        hash: 'AAF4C61D',
        creationTime: { written: '2011111725448', date: undefined },
        serviceStart: undefined,
        remarks: [
          'no-unique-id',
          'no-repository',
          'no-home-community',
          'no-mime-type',
          'unreadable-size',
          'unreadable-time',
        ],
      },
    ]);
  });

  test('with schemes in capitals and apostrophes around the patient is read', () => {
    const { entries } = written(
      'Success',
      `<ExtrinsicObject id="d1" objectType="URN:UUID:34268E47-FDF5-41A6-BA33-82133C465248">${slot('size', '0')}<ExternalIdentifier identificationScheme="urn:uuid:2E82C1F6-A085-4C72-9DA3-8640A32E42AB" value="2.999.9.1"/><ExternalIdentifier identificationScheme="urn:uuid:58a6f841-87b3-4a3e-92fd-a8ffeff98427" value="'p1^^^&amp;2.999.5&amp;ISO'"/></ExtrinsicObject>`,
    );

    expect(entries).toMatchObject([
      {
        uniqueId: '2.999.9.1',
        patientId: 'p1^^^&2.999.5&ISO',
        patient: { id: 'p1', authority: '2.999.5' },
        isOnDemand: true,
        size: 0,
      },
    ]);
  });

  test('of mere references is not taken for one without documents', () => {
    expect(written('Success', '<ObjectRef id="urn:uuid:1"/>')).toMatchObject({
      outcome: 'incomplete',
      entries: [],
      remarks: ['references-only'],
    });
  });

  test('of 2,000 entries is read', () => {
    const entry = `<ExtrinsicObject id="d1">${slot('repositoryUniqueId', '1')}</ExtrinsicObject>`;

    expect(written('Success', entry.repeat(2000)).entries).toHaveLength(2000);
  });
});
