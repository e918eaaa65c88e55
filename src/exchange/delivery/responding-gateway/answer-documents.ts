import {
  buildFindDocumentsResponse,
  buildRetrieveResponse,
  type DocumentQueryRequest,
  type DocumentToRetrieve,
  isSameId,
  type KnownIheError,
  type OutgoingAttachment,
  queryValues,
  type RegistryFault,
  type RequestedDocument,
  withoutUrn,
  withUrnOid,
} from '#ihe';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import {
  type FoundDocument,
  findAttachment,
  type ListedDocument,
  listDocuments,
} from '../documents/document-store.ts';
import { servedTypeOf } from '../documents/routes.ts';
import { sha1Of } from './document-hashes.ts';
import { storedIdOf, uniqueIdOf, uuidOf } from './document-ids.ts';
import { metadataOf } from './document-metadata.ts';
import { isAskedFor, unknownParameters } from './find-filter.ts';
import type { StoredMembership } from './membership-store.ts';
import type {
  AnswerDeps,
  GivenData,
  TransactionAnswer,
} from './transaction.ts';

type DocumentAnswer = Omit<TransactionAnswer, 'action'>;
type DocumentDeps = Pick<AnswerDeps, 'store' | 'blobs' | 'records'>;

const GET_DOCUMENTS = 'urn:uuid:5c4f972b-d56b-40ac-a5fc-c8ca9b40b9d4';
const ENTRIES_MAX = 500;
const RETRIEVED_MAX = 100;

/**
 * Answers ITI-38: the files that the account contributed about a patient whom
 * networks may see, and that no policy withholds.
 */
export async function answerDocumentQuery(
  deps: DocumentDeps,
  membership: StoredMembership,
  request: DocumentQueryRequest,
): Promise<DocumentAnswer> {
  const { accountId, settings } = membership;
  const home = settings.homeCommunity;
  const fault = faultOfQuery(request, home);
  if (fault !== undefined) return failedQuery(fault, home);
  const isById = isSameId(request.queryId ?? '', GET_DOCUMENTS);
  const documents = isById
    ? await documentsWithIds(deps, accountId, request)
    : await documentsOfPatient(deps, membership, request);
  if (documents === undefined)
    return failedQuery(
      ['XDSUnknownPatientId', 'This patient is not known here.'],
      home,
      '404',
    );
  const wanted = documents.filter(
    (each) => isById || isAskedFor(request, metadataOf(each, home, undefined)),
  );
  if (wanted.length > ENTRIES_MAX)
    return failedQuery(
      [
        'XDSTooManyResults',
        `The answer would have more than ${ENTRIES_MAX} documents: ask for a shorter period.`,
      ],
      home,
    );
  const referencesOnly = request.returnType === 'ObjectRef';
  const hashes = referencesOnly
    ? new Map<string, string>()
    : await sha1Of(deps, accountId, wanted);
  const patientIds = new Set(wanted.map(({ patientId }) => patientId));
  const asked = isById ? undefined : uuidOf(request.patient?.id ?? '');
  if (asked !== undefined) patientIds.add(asked);
  return {
    body: buildFindDocumentsResponse({
      status: 'Success',
      referencesOnly,
      entries: wanted.map((each) =>
        metadataOf(each, home, hashes.get(each.id)),
      ),
    }),
    given: [...patientIds].map((patientId) => ({ patientId, outcome: '200' })),
  };
}

type Fault = readonly [code: KnownIheError, context: string];

function faultOfQuery(
  request: DocumentQueryRequest,
  ownCommunity: string,
): Fault | undefined {
  const { homeCommunity, isFindDocuments, queryId, slots, patient } = request;
  const isById = isSameId(queryId ?? '', GET_DOCUMENTS);
  if (!isFindDocuments && !isById)
    return [
      'XDSUnknownStoredQuery',
      'Only FindDocuments and GetDocuments are answered here.',
    ];
  if (homeCommunity === undefined && isById)
    return ['XDSMissingHomeCommunityId', 'The query must name a community.'];
  if (homeCommunity !== undefined && !isSameId(homeCommunity, ownCommunity))
    return ['XDSUnknownCommunity', 'Another community answers here.'];
  if (isById) return undefined;
  if (patient === undefined || !slots.has('$XDSDocumentEntryStatus'))
    return [
      'XDSStoredQueryMissingParam',
      'A patient id and a status are required.',
    ];
  return unknownParameters(request).length > 0
    ? [
        'XDSStoredQueryParamNumber',
        'The query has a parameter that is not known here.',
      ]
    : undefined;
}

const failedQuery = (
  fault: Fault,
  ownCommunity: string,
  outcome: GivenData['outcome'] = '400',
): DocumentAnswer => ({
  body: buildFindDocumentsResponse({
    status: 'Failure',
    entries: [],
    faults: [registryFault(fault, ownCommunity)],
  }),
  given: [{ outcome }],
});

const registryFault = (
  [code, context]: Fault,
  ownCommunity: string,
): RegistryFault => ({ code, context, location: withUrnOid(ownCommunity) });

/** Undefined when networks do not see the patient. */
async function documentsOfPatient(
  deps: DocumentDeps,
  { accountId, settings }: StoredMembership,
  { patient }: DocumentQueryRequest,
): Promise<ListedDocument[] | undefined> {
  const patientId = uuidOf(patient?.id ?? '');
  const isOurs = isSameId(patient?.authority ?? '', settings.homeCommunity);
  if (patientId === undefined || !isOurs) return undefined;
  return visibleDocuments(deps, accountId, patientId);
}

async function visibleDocuments(
  { store, records }: DocumentDeps,
  accountId: string,
  patientId: string,
): Promise<ListedDocument[] | undefined> {
  const isSeen = await store.asResponder(
    accountId,
    async (tx) => (await findPatient(tx, patientId)) !== undefined,
  );
  if (!isSeen) return undefined;
  await records.merge(accountId, patientId);
  return store.asResponder(accountId, (tx) => listDocuments(tx, patientId));
}

/** Those of the documents, named by unique id or by the id of the entry. */
async function documentsWithIds(
  deps: DocumentDeps,
  accountId: string,
  { slots }: DocumentQueryRequest,
): Promise<ListedDocument[]> {
  const ids = [
    ...queryValues(slots.get('$XDSDocumentEntryUniqueId')).map(storedIdOf),
    ...queryValues(slots.get('$XDSDocumentEntryEntryUUID')).map(uuidOf),
  ]
    .filter((id) => id !== undefined)
    .slice(0, ENTRIES_MAX);
  const wanted = new Set(ids);
  const found = await Promise.all(
    [...wanted].map((id) => visibleDocument(deps, accountId, id)),
  );
  const patients = new Set(
    found.map((each) => each?.patientId).filter((id) => id != null),
  );
  const documents: ListedDocument[] = [];
  for (const patientId of patients)
    documents.push(
      ...((await visibleDocuments(deps, accountId, patientId)) ?? []),
    );
  return documents.filter(({ id }) => wanted.has(id));
}

/** A document that networks may be given now. */
async function visibleDocument(
  { store }: DocumentDeps,
  accountId: string,
  id: string,
): Promise<(FoundDocument & { patientId: string }) | undefined> {
  const document = await store.asResponder(accountId, (tx) =>
    findAttachment(tx, id),
  );
  if (document === undefined || document.patientId === null) return undefined;
  const { patientId, isTakenBack, isWithheld } = document;
  return isTakenBack || isWithheld ? undefined : { ...document, patientId };
}

/**
 * Answers ITI-39. What may not be given is said to be unknown, like what is not
 * there.
 */
export async function answerRetrieval(
  deps: DocumentDeps,
  { accountId, settings }: StoredMembership,
  asked: readonly RequestedDocument[],
): Promise<DocumentAnswer> {
  const home = withoutUrn(settings.homeCommunity);
  const documents: DocumentToRetrieve[] = [];
  const attachments: OutgoingAttachment[] = [];
  const faults: RegistryFault[] = [];
  const given: GivenData[] = [];
  for (const each of asked.slice(0, RETRIEVED_MAX)) {
    const found = await retrieved(deps, accountId, home, each);
    if (isFault(found)) {
      faults.push(registryFault(found, home));
      given.push({ outcome: '404' });
      continue;
    }
    const contentId = `${documents.length + 1}@medical-data-exchange`;
    documents.push({
      uniqueId: uniqueIdOf(found.id),
      repository: home,
      homeCommunity: home,
      mimeType: servedTypeOf(found),
      content: { contentId },
    });
    attachments.push({
      contentId,
      contentType: servedTypeOf(found),
      bytes: contentOf(deps.blobs, found.blobRef),
    });
    given.push({
      patientId: found.patientId,
      targetId: found.id,
      outcome: '200',
    });
  }
  if (asked.length > RETRIEVED_MAX)
    faults.push(
      registryFault(
        [
          'XDSRepositoryOutOfResources',
          `At most ${RETRIEVED_MAX} documents are given at a time; ask for the others again.`,
        ],
        home,
      ),
    );
  const isWhole = faults.length === 0 && documents.length > 0;
  const status = isWhole
    ? 'Success'
    : documents.length > 0
      ? 'PartialSuccess'
      : 'Failure';
  return {
    body: buildRetrieveResponse({
      status,
      documents,
      faults: asked.length === 0 ? [registryFault(NONE_ASKED, home)] : faults,
    }),
    attachments,
    given: given.length === 0 ? [{ outcome: '400' }] : given,
  };
}

const NONE_ASKED: Fault = ['XDSRepositoryError', 'No document was asked for.'];

const isFault = (found: object): found is Fault => Array.isArray(found);

async function retrieved(
  deps: DocumentDeps,
  accountId: string,
  home: string,
  { homeCommunity, repository, uniqueId }: RequestedDocument,
): Promise<Fault | (FoundDocument & { patientId: string })> {
  if (homeCommunity !== undefined && !isSameId(homeCommunity, home))
    return ['XDSUnknownCommunity', 'Another community answers here.'];
  if (repository === undefined || !isSameId(repository, home))
    return ['XDSUnknownRepositoryId', 'There is no such repository here.'];
  const id = storedIdOf(uniqueId ?? '');
  const document =
    id === undefined ? undefined : await visibleDocument(deps, accountId, id);
  const isThere =
    document !== undefined && (await deps.blobs.has(document.blobRef));
  return isThere
    ? document
    : ['XDSDocumentUniqueIdError', 'There is no such document here.'];
}

/** Opened when its turn comes, so that a large answer holds one file at a time. */
async function* contentOf(
  blobs: BlobStore,
  ref: string,
): AsyncGenerator<Uint8Array> {
  yield* await blobs.get(ref);
}
