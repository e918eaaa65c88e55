import { expect, test } from 'vitest';
import {
  accountForRetrieval,
  readFindDocumentsResponse,
  readRetrieveResponse,
  readSubmission,
} from '../src/index.ts';
import { payloadOf } from './payloads.ts';

// A reader whose time grew with the square of what is sent would not end here.

const MANY = 30_000;

test('tens of thousands of slots of one name are one slot', () => {
  const slot =
    '<Slot name="creationTime"><ValueList><Value>2026</Value></ValueList></Slot>';
  const { entries } = readFindDocumentsResponse(
    payloadOf(
      `<AdhocQueryResponse xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:query:3.0"><RegistryObjectList xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0"><ExtrinsicObject>${slot.repeat(MANY)}</ExtrinsicObject></RegistryObjectList></AdhocQueryResponse>`,
    ),
  );

  expect(entries[0]?.creationTime?.written).toBe('2026');
});

test('tens of thousands of documents that nobody asked for are told from those asked', () => {
  const document = (id: string) =>
    `<DocumentResponse><RepositoryUniqueId>1</RepositoryUniqueId><DocumentUniqueId>${id}</DocumentUniqueId><Document>aGVsbG8=</Document></DocumentResponse>`;
  const { documents } = readRetrieveResponse(
    payloadOf(
      `<RetrieveDocumentSetResponse xmlns="urn:ihe:iti:xds-b:2007">${document('2').repeat(MANY)}${document('3')}</RetrieveDocumentSetResponse>`,
    ),
  );
  const asked = ['2', '3', '4'].map((uniqueId) => ({
    uniqueId,
    repository: '1',
    homeCommunity: '5',
  }));
  const account = accountForRetrieval(asked, documents);

  expect(account.received.map((each) => each.asked.uniqueId)).toEqual([
    '2',
    '3',
  ]);
  expect(account.missing).toEqual([asked[2]]);
  expect(account.unasked).toHaveLength(MANY - 1);
});

test('tens of thousands of packages and documents of one id are refused', () => {
  const set =
    '<RegistryPackage id="s"/><ExtrinsicObject id="d"/><Classification classifiedObject="s" classificationNode="urn:uuid:a54d6aa5-d40d-43f9-88c5-b4633d873bdd"/>';
  const submission = readSubmission(
    payloadOf(
      `<ProvideAndRegisterDocumentSetRequest xmlns="urn:ihe:iti:xds-b:2007"><SubmitObjectsRequest xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:lcm:3.0"><RegistryObjectList xmlns="urn:oasis:names:tc:ebxml-regrep:xsd:rim:3.0">${set.repeat(MANY)}</RegistryObjectList></SubmitObjectsRequest>${'<Document id="d">aGVsbG8=</Document>'.repeat(MANY)}</ProvideAndRegisterDocumentSetRequest>`,
    ),
  );

  expect(submission.submissionSets).toHaveLength(MANY);
  expect(submission.faults.map(({ code }) => code)).toContain(
    'XDSRepositoryMetadataError',
  );
});
