import { createHash } from 'node:crypto';
import {
  type DocumentContent,
  readDocumentContent,
} from '../ebxml/document-content.ts';
import {
  comparableHash,
  type DocumentAuthor,
  type DocumentEntry,
  readAuthors,
  readDocumentEntry,
} from '../ebxml/document-entry.ts';
import {
  type Coded,
  isRegistryElement,
  readCodes,
  readIdentifier,
  readLocalizedString,
  readSlots,
  registryChild,
  registryChildren,
} from '../ebxml/registry-elements.ts';
import {
  CLASSIFICATION_SCHEMES,
  IDENTIFIER_SCHEMES,
  SUBMISSION_SET_NODE,
} from '../ebxml/registry-names.ts';
import { lastSegment } from '../errors.ts';
import { groupedBy } from '../grouped-by.ts';
import {
  comparableId,
  isSameId,
  readCx,
  withoutApostrophes,
} from '../identifiers.ts';
import { messageElement } from '../message-element.ts';
import { type Hl7Time, readHl7Time } from '../times.ts';
import { attributeOf, type XmlElement } from '../xml/xml-element.ts';

/** What a submission says of itself. Ids as they came. */
export interface SubmissionSet {
  uniqueId: string | undefined;
  sourceId: string | undefined;
  patientId: string | undefined;
  homeCommunity: string | undefined;
  submissionTime: Hl7Time | undefined;
  title: string | undefined;
  comments: string | undefined;
  contentType: Coded | undefined;
  authors: DocumentAuthor[];

  /** `Organization|Person|Telecom`, as written; each third may be absent. */
  intendedRecipients: string[];
}

/** A document of a submission: its metadata and where its bytes are. */
export interface SubmittedDocument {
  entry: DocumentEntry;
  content: DocumentContent;
}

/** IHE's code for what is wrong with a submission, as it is answered. */
export interface SubmissionFault {
  code:
    | 'XDSRepositoryMetadataError'
    | 'XDSRepositoryDuplicateUniqueIdInMessage'
    | 'XDSMissingDocument'
    | 'XDSMissingDocumentMetadata'
    | 'XDSNonIdenticalHash'
    | 'XDSNonIdenticalSize'
    | 'XDSPatientIdDoesNotMatch';

  /** In words, without anything of the message. */
  reason: string;
}

/** What a receiver that only takes documents leaves aside, by IHE's code. */
export type SubmissionRemark =
  | 'PartialFolderContentNotProcessed'
  | 'PartialAppendContentNotProcessed'
  | 'PartialReplaceContentNotProcessed'
  | 'PartialTransformNotProcessed'
  | 'PartialTransformReplaceNotProcessed';

/** ITI-41's message, as a receiver reads it. */
export interface DocumentSubmission {
  /** Exactly one, in a submission that may be accepted. */
  submissionSets: SubmissionSet[];

  documents: SubmittedDocument[];

  /** The community that it is for, where the message has it (ITI-80). */
  targetCommunity: string | undefined;

  /** Whatever forbids to accept it; the bytes are checked apart. */
  faults: SubmissionFault[];

  /** What it says beyond its documents, for warnings (ITI TF-3 4.2.4.1). */
  remarks: SubmissionRemark[];
}

/**
 * Reads ProvideAndRegisterDocumentSetRequest.
 *
 * @param payload the element in the SOAP body
 */
export function readSubmission(payload: XmlElement): DocumentSubmission {
  const request = messageElement(payload, (element) =>
    isRegistryElement(element, 'ProvideAndRegisterDocumentSetRequest'),
  );
  const contents = documentsById(request);
  const submission = readSubmittedObjects(
    registryChild(request, 'SubmitObjectsRequest'),
    (object) => takeContent(contents, attributeOf(object, 'id')),
  );
  const unused = [...contents.values()].filter((each) => each.length > 0);

  return {
    ...submission,
    faults: [...submission.faults, ...unused.map(() => MISSING_METADATA)],
  };
}

/**
 * Reads XDM's METADATA.XML (ITI-32, ITI TF-2 3.32.4.1.2). The documents are
 * files beside it: a document's `reference` is its URI, as written.
 *
 * @param root of the document
 */
export function readMediaMetadata(root: XmlElement): DocumentSubmission {
  const submit = messageElement(root, (element) =>
    isRegistryElement(element, 'SubmitObjectsRequest'),
  );

  return readSubmittedObjects(submit, (_object, { uri }) =>
    uri === undefined
      ? { in: 'nowhere', reason: 'empty' }
      : { in: 'attachment', reference: uri },
  );
}

function readSubmittedObjects(
  submit: XmlElement | undefined,
  contentOf: (object: XmlElement, entry: DocumentEntry) => DocumentContent,
): DocumentSubmission {
  const objects = registryChild(submit, 'RegistryObjectList');
  const requestSlots = registryChild(submit, 'RequestSlotList');
  const classified = idsClassifiedAsSets(objects);
  const packages = registryChildren(objects, 'RegistryPackage');
  const sets = packages.filter((each) => isSubmissionSet(each, classified));
  const submissionSets = sets.map(readSubmissionSet);
  const documents = registryChildren(objects, 'ExtrinsicObject').map(
    (object) => {
      const entry = readDocumentEntry(object);

      return { entry, content: contentOf(object, entry) };
    },
  );

  return {
    submissionSets,
    documents,
    targetCommunity:
      requestSlots && readSlots(requestSlots).get('homeCommunityId')?.[0],
    faults: submissionFaults(submissionSets, documents),
    remarks: submissionRemarks(objects, packages.length > sets.length),
  };
}

/**
 * Whether bytes are those that the metadata announce. Size 0 and a missing hash
 * announce nothing.
 */
export function submittedContentFaults(
  entry: Pick<DocumentEntry, 'size' | 'hash'>,
  bytes: Uint8Array,
): SubmissionFault[] {
  const faults: SubmissionFault[] = [];

  if (entry.size && entry.size !== bytes.byteLength) {
    faults.push({
      code: 'XDSNonIdenticalSize',
      reason: 'A document has another size than its metadata say.',
    });
  }

  const sha1 = createHash('sha1').update(bytes).digest('hex');

  if (entry.hash !== undefined && comparableHash(entry.hash) !== sha1) {
    faults.push({
      code: 'XDSNonIdenticalHash',
      reason: 'A document has another hash than its metadata say.',
    });
  }

  return faults;
}

const MISSING_METADATA: SubmissionFault = {
  code: 'XDSMissingDocumentMetadata',
  reason: 'A document has no metadata.',
};

function submissionFaults(
  sets: readonly SubmissionSet[],
  documents: readonly SubmittedDocument[],
): SubmissionFault[] {
  const faults: SubmissionFault[] = [];

  if (sets.length !== 1) {
    faults.push({
      code: 'XDSRepositoryMetadataError',
      reason: `A submission has exactly one submission set, this one has ${sets.length}.`,
    });
  }
  if (hasRepetition([...sets, ...documents.map(({ entry }) => entry)])) {
    faults.push({
      code: 'XDSRepositoryDuplicateUniqueIdInMessage',
      reason: 'Two objects of the submission have the same unique id.',
    });
  }
  if (documents.some(({ entry }) => entry.uniqueId === undefined)) {
    faults.push({
      code: 'XDSRepositoryMetadataError',
      reason: 'A document has no unique id.',
    });
  }
  if (documents.some(({ entry }) => entry.isOnDemand)) {
    faults.push({
      code: 'XDSRepositoryMetadataError',
      reason: 'A document that is made on demand cannot be submitted.',
    });
  }
  if (hasOtherPatient([...sets, ...documents.map(({ entry }) => entry)])) {
    faults.push({
      code: 'XDSPatientIdDoesNotMatch',
      reason: 'The objects of the submission name several patients.',
    });
  }
  if (documents.some(({ content }) => content.in === 'nowhere')) {
    faults.push({
      code: 'XDSMissingDocument',
      reason: 'Metadata are there without their document.',
    });
  }

  return faults;
}

function hasRepetition(
  objects: readonly { uniqueId: string | undefined }[],
): boolean {
  const ids = objects
    .map(({ uniqueId }) => uniqueId)
    .filter((id) => id !== undefined)
    .map(comparableId);

  return new Set(ids).size < ids.length;
}

function hasOtherPatient(
  objects: readonly { patientId: string | undefined }[],
): boolean {
  const ids = objects
    .map(({ patientId }) => patientId)
    .filter((id) => id !== undefined)
    .map((id) => JSON.stringify(readCx(id)));

  return new Set(ids).size > 1;
}

const REMARKS_OF_ASSOCIATIONS: ReadonlyMap<string, SubmissionRemark> = new Map([
  ['APND', 'PartialAppendContentNotProcessed'],
  ['RPLC', 'PartialReplaceContentNotProcessed'],
  ['XFRM', 'PartialTransformNotProcessed'],
  ['XFRM_RPLC', 'PartialTransformReplaceNotProcessed'],
]);

/** Folders, and what documents are to others that came before. */
function submissionRemarks(
  objects: XmlElement | undefined,
  hasFolders: boolean,
): SubmissionRemark[] {
  const remarks = new Set<SubmissionRemark>();

  if (hasFolders) remarks.add('PartialFolderContentNotProcessed');
  for (const association of registryChildren(objects, 'Association')) {
    const type = lastSegment(attributeOf(association, 'associationType') ?? '');
    const remark = REMARKS_OF_ASSOCIATIONS.get(type);

    if (remark !== undefined) remarks.add(remark);
  }

  return [...remarks];
}

/** The `Document` elements by their id; of several, the first is last. */
function documentsById(request: XmlElement): Map<string, XmlElement[]> {
  return groupedBy(
    registryChildren(request, 'Document').toReversed(),
    (element) => comparableId(attributeOf(element, 'id') ?? ''),
  );
}

/** Takes the next document of an id, so that each is used once. */
function takeContent(
  contents: Map<string, XmlElement[]>,
  id: string | undefined,
): DocumentContent {
  const element = contents.get(comparableId(id ?? ''))?.pop();

  return readDocumentContent(element);
}

/** The ids of objects that a classification beside them calls a set. */
function idsClassifiedAsSets(objects: XmlElement | undefined): Set<string> {
  return new Set(
    registryChildren(objects, 'Classification')
      .filter(isOfSets)
      .map((each) => comparableId(attributeOf(each, 'classifiedObject') ?? '')),
  );
}

function isOfSets(classification: XmlElement): boolean {
  const node = attributeOf(classification, 'classificationNode');

  return isSameId(node ?? '', SUBMISSION_SET_NODE);
}

/**
 * A package is a submission set if it is classified so, within itself or beside
 * it, or if it has a submission set's identifiers.
 */
function isSubmissionSet(
  element: XmlElement,
  classified: ReadonlySet<string>,
): boolean {
  return (
    classified.has(comparableId(attributeOf(element, 'id') ?? '')) ||
    registryChildren(element, 'Classification').some(isOfSets) ||
    readIdentifier(element, IDENTIFIER_SCHEMES.submissionUniqueId) !==
      undefined ||
    readIdentifier(element, IDENTIFIER_SCHEMES.submissionSourceId) !== undefined
  );
}

function readSubmissionSet(element: XmlElement): SubmissionSet {
  const slots = readSlots(element);
  const submissionTime = slots.get('submissionTime')?.[0];
  const patientId = readIdentifier(
    element,
    IDENTIFIER_SCHEMES.submissionPatientId,
  );

  return {
    uniqueId: readIdentifier(element, IDENTIFIER_SCHEMES.submissionUniqueId),
    sourceId: readIdentifier(element, IDENTIFIER_SCHEMES.submissionSourceId),
    patientId:
      patientId === undefined ? undefined : withoutApostrophes(patientId),
    homeCommunity: attributeOf(element, 'home'),
    submissionTime:
      submissionTime === undefined ? undefined : readHl7Time(submissionTime),
    title: readLocalizedString(element, 'Name'),
    comments: readLocalizedString(element, 'Description'),
    contentType: readCodes(
      element,
      CLASSIFICATION_SCHEMES.submissionContentType,
    )[0],
    authors: readAuthors(element, CLASSIFICATION_SCHEMES.submissionAuthor),
    intendedRecipients: slots.get('intendedRecipient') ?? [],
  };
}
