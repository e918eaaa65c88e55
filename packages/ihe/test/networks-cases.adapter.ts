import { createHash } from 'node:crypto';
import {
  type Coded,
  type DocumentContent,
  type DocumentEntry,
  type Envelope,
  type FindDocumentsResponse,
  findAssertion,
  IheError,
  type InstanceId,
  type PatientDiscoveryResponse,
  type PersonNameParts,
  type PostalAddress,
  patientsByCommunity,
  type RegistryProblem,
  type RetrieveResponse,
  readAssertion,
  readDocumentQuery,
  readEnvelope,
  readFindDocumentsResponse,
  readPatientDiscovery,
  readPatientDiscoveryResponse,
  readRetrieve,
  readRetrieveResponse,
  readSubmission,
  readSubmissionResponse,
  readXml,
  submittedContentFaults,
  withoutUrn,
  type XmlElement,
} from '../src/index.ts';

/*
 * Our readers in the words of the networks' cases: what
 * test/networks-cases.test.ts compares, and what the runner of the cases takes.
 */

/** The message of a case; some cases have it without an envelope. */
interface CaseMessage {
  payload: XmlElement;
  envelope: Envelope | undefined;
}

async function readMessage(
  bytes: Uint8Array,
  contentType: string | undefined,
): Promise<CaseMessage> {
  let envelope: Envelope;

  try {
    envelope = await readEnvelope(bytes, contentType);
  } catch (error) {
    if (error instanceof IheError && error.code === 'not-soap') {
      return { payload: readXml(bytes), envelope: undefined };
    }

    throw error;
  }

  if (envelope.payload === undefined) throw new Error('The body is empty.');

  return { payload: envelope.payload, envelope };
}

function faultOf({ envelope }: CaseMessage) {
  if (envelope?.fault === undefined) return undefined;

  const { kind, code, subcodes } = envelope.fault;

  return {
    outcome: kind === 'receiver' ? 'fault' : 'fault-of-ours',
    code,
    subcode: subcodes[0] ?? null,
    reason: envelope.fault.confidentialReason(),
  };
}

async function readFault(bytes: Uint8Array, contentType?: string) {
  const message = await readMessage(bytes, contentType);

  return faultOf(message) ?? { outcome: 'no-fault' };
}

async function readDiscoveryAnswer(bytes: Uint8Array, contentType?: string) {
  const message = await readMessage(bytes, contentType);
  const fault = faultOf(message);

  if (fault !== undefined) return fault;

  const answer = readPatientDiscoveryResponse(message.payload);

  return {
    outcome: discoveryOutcome(answer),
    ack: answer.acknowledgement,
    queryResponse: answer.queryResponse,
    matches: answer.patients.map((patient) => ({
      id: patient.patientId?.extension ?? null,
      authority: patient.patientId?.root ?? null,
      homeCommunity: bareOrNull(patient.homeCommunity),
      names: patient.person.names.map(nameFacts),
      gender: patient.person.gender ?? null,
      birthTime: patient.person.birthTime?.written ?? null,
      addresses: patient.person.addresses.map(addressFacts),
      telecoms: patient.person.telecoms,
      otherIds: patient.person.otherIds.map(idPair),
      degree: patient.confidence ?? null,
    })),
    problems: answer.problems.map(({ code }) => code),
    attributesRequested: answer.wanted.map(({ code }) => code),
  };
}

function discoveryOutcome(answer: PatientDiscoveryResponse): string {
  if (answer.outcome === 'nobody') return 'nobody';
  if (answer.outcome === 'acknowledged') return 'deferred';
  if (answer.outcome === 'more-attributes-wanted') return answer.outcome;
  if (answer.outcome === 'failed') {
    if (answer.meaning === 'our-fault') return 'error-of-ours';

    return answer.meaning === 'again-later' ? 'error-to-try-again' : 'error';
  }

  const communities = [...patientsByCommunity(answer.patients).values()];

  if (communities.some((patients) => patients.length > 1)) return 'candidates';

  return communities.length > 1 ? 'match-in-several-communities' : 'match';
}

async function readDiscoveryQuestion(bytes: Uint8Array, contentType?: string) {
  const { payload } = await readMessage(bytes, contentType);
  const request = readPatientDiscovery(payload);
  const { criteria } = request;

  return {
    queryId: rootFirst(request.queryId),
    messageId: rootFirst(request.messageId),
    priority: request.priority ?? null,
    respondTo: request.respondTo ?? null,
    senderCommunity: bareOrNull(request.senderCommunity),
    names: criteria.names.map(nameFacts),
    gender: criteria.genders,
    birthTime: criteria.birthTimes,
    ids: criteria.ids.map(idPair),
    zips: criteria.addresses
      .map(({ zip }) => zip)
      .filter((zip) => zip !== undefined),
    ownIdAuthority: request.ownIdAuthority ?? null,
  };
}

async function readQueryAnswer(bytes: Uint8Array, contentType?: string) {
  const message = await readMessage(bytes, contentType);
  const fault = faultOf(message);

  if (fault !== undefined) return fault;

  const answer = readFindDocumentsResponse(message.payload);

  return {
    outcome: registryOutcome(answer, answer.entries.length),
    status: bareStatus(answer.statusWritten),
    documents: answer.entries.map(entryFacts),
    errors: answer.problems.map(problemFacts),
  };
}

function registryOutcome(
  answer: FindDocumentsResponse | RetrieveResponse,
  documents: number,
): string {
  if (answer.outcome === 'complete') {
    return documents > 0 ? 'documents' : 'no-documents';
  }
  if (answer.outcome === 'incomplete') return 'documents-with-a-gap';
  if (answer.meaning === 'our-fault') return 'failure-of-ours';

  return answer.meaning === 'again-later' ? 'failure-to-try-again' : 'failure';
}

async function readQueryQuestion(bytes: Uint8Array, contentType?: string) {
  const { payload } = await readMessage(bytes, contentType);
  const request = readDocumentQuery(payload);

  return {
    queryId: request.queryId,
    home: bareOrNull(request.homeCommunity),
    returnType: request.returnType,
    slots: Object.fromEntries(request.slots),
  };
}

async function readRetrieveAnswer(bytes: Uint8Array, contentType?: string) {
  const message = await readMessage(bytes, contentType);
  const fault = faultOf(message);

  if (fault !== undefined) return fault;

  const answer = readRetrieveResponse(message.payload);
  const documents = answer.documents.map((document) => ({
    uniqueId: document.uniqueId,
    repository: document.repository,
    home: bareOrNull(document.homeCommunity),
    newUniqueId: document.newUniqueId ?? null,
    newRepository: document.newRepository ?? null,
    mimeType: document.mimeType ?? null,
    ...contentFacts(document.content, message.envelope),
  }));

  return {
    outcome: retrieveOutcome(answer, documents, message.envelope),
    status: bareStatus(answer.statusWritten),
    documents,
    errors: answer.problems.map(problemFacts),
  };
}

function retrieveOutcome(
  answer: RetrieveResponse,
  documents: readonly { length: number | null }[],
  envelope: Envelope | undefined,
): string {
  if (envelope?.isComplete === false) return 'broken-off';

  const present = documents.filter(({ length }) => length !== null).length;

  if (present === documents.length) return registryOutcome(answer, present);

  return present === 0 ? 'attachment-missing' : 'documents-with-a-gap';
}

async function readRetrieveQuestion(bytes: Uint8Array, contentType?: string) {
  const { payload, envelope } = await readMessage(bytes, contentType);

  return {
    documents: readRetrieve(payload).map((document) => ({
      uniqueId: document.uniqueId,
      repository: document.repository,
      home: bareOrNull(document.homeCommunity),
    })),
    messageId: envelope?.messageId,
    replyTo: envelope?.replyTo ?? null,
  };
}

async function readSubmissionCase(bytes: Uint8Array, contentType?: string) {
  const { payload, envelope } = await readMessage(bytes, contentType);
  const submission = readSubmission(payload);
  const contents = submission.documents.map(({ content }) =>
    contentBytes(content, envelope),
  );
  const isWhole = contents.every((each) => each !== undefined);
  const faults = submission.documents.flatMap(({ entry }, at) => {
    const content = contents[at];

    return content === undefined ? [] : submittedContentFaults(entry, content);
  });
  const isAccepted =
    isWhole && faults.length === 0 && submission.faults.length === 0;

  return {
    outcome: isAccepted ? 'accepted' : 'refused',
    submissionSets: submission.submissionSets.map((set) => ({
      uniqueId: set.uniqueId,
      sourceId: set.sourceId,
      patientId: set.patientId,
      intendedRecipient: set.intendedRecipients,
      submissionTime: set.submissionTime?.written ?? null,
      title: set.title ?? null,
      home: bareOrNull(set.homeCommunity),
    })),
    documents: submission.documents.map(({ entry, content }) => ({
      ...entryFacts(entry),
      sourcePatientInfo: entry.sourcePatientInfo,
      ...contentFacts(content, envelope),
    })),
  };
}

async function readSubmissionAnswer(bytes: Uint8Array, contentType?: string) {
  const message = await readMessage(bytes, contentType);
  const fault = faultOf(message);

  if (fault !== undefined) return fault;

  const answer = readSubmissionResponse(message.payload);

  return {
    outcome: submissionOutcome(answer),
    status: bareStatus(answer.statusWritten),
    errors: answer.problems.map(problemFacts),
    relatesTo: message.envelope?.relatesTo ?? null,
  };
}

function submissionOutcome(
  answer: ReturnType<typeof readSubmissionResponse>,
): string {
  if (answer.outcome === 'accepted') return 'delivered';

  return answer.meaning === 'again-later' ? 'failure-to-try-again' : 'refused';
}

/** As written, without the URN before it. */
function bareStatus(status: string | undefined): string | null {
  return status?.split(':').at(-1) ?? null;
}

function nameFacts({ family, given }: PersonNameParts) {
  return { family, given };
}

function addressFacts({ lines, city, state, zip }: PostalAddress) {
  return { lines, city, state, zip };
}

function idPair(id: InstanceId): (string | null)[] {
  return [id.extension ?? null, id.root];
}

function rootFirst(id: InstanceId | undefined) {
  return id === undefined ? null : [id.root, id.extension ?? null];
}

function bareOrNull(id: string | undefined): string | null {
  return id === undefined ? null : withoutUrn(id);
}

function codeTriple(coded: Coded | undefined) {
  return coded === undefined
    ? null
    : [coded.code, coded.system ?? null, coded.display ?? null];
}

function entryFacts(entry: DocumentEntry) {
  return {
    uniqueId: entry.uniqueId ?? null,
    entryUuid: entry.entryUuid,
    home: bareOrNull(entry.homeCommunity),
    repository: entry.repository ?? null,
    patientId: entry.patientId ?? null,
    mimeType: entry.mimeType ?? null,
    title: entry.title ?? null,
    creationTime: entry.creationTime?.written ?? null,
    serviceStart: entry.serviceStart?.written ?? null,
    serviceStop: entry.serviceStop?.written ?? null,
    size: entry.size ?? null,
    hash: entry.hash ?? null,
    language: entry.language ?? null,
    availability: entry.availability ?? null,
    onDemand: entry.isOnDemand,
    classCode: codeTriple(entry.classCode),
    typeCode: codeTriple(entry.typeCode),
    formatCode: codeTriple(entry.formatCode),
    confidentiality: codeTriple(entry.confidentiality[0]),
  };
}

function problemFacts(problem: RegistryProblem) {
  return {
    code: problem.code,
    severity: problem.severity,
    context: problem.confidentialContext() ?? null,
    text: problem.confidentialText() ?? null,
    location: problem.confidentialLocation() ?? null,
  };
}

function contentFacts(
  content: DocumentContent,
  envelope: Envelope | undefined,
) {
  const bytes = contentBytes(content, envelope);

  return bytes === undefined
    ? { length: null, sha256: null }
    : {
        length: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
      };
}

function contentBytes(
  content: DocumentContent,
  envelope: Envelope | undefined,
): Buffer | undefined {
  if (content.in === 'message') return content.bytes;
  if (content.in === 'nowhere') return undefined;

  const attachment = envelope?.attachment(content.reference);

  return attachment?.isComplete === true ? attachment.stored : undefined;
}

async function readSaml(bytes: Uint8Array) {
  const found = findAssertion(readXml(bytes));
  if (found === undefined) return { outcome: 'no-assertion' };

  const assertion = readAssertion(found);

  return {
    ...assertion,
    notBefore: assertion.notBefore ?? null,
    notOnOrAfter: assertion.notOnOrAfter ?? null,
    attributes: Object.fromEntries(assertion.attributes),
  };
}

export {
  readDiscoveryAnswer as 'xcpd-response',
  readDiscoveryQuestion as 'xcpd-request',
  readFault as fault,
  readQueryAnswer as 'xca-query-response',
  readQueryQuestion as 'xca-query-request',
  readRetrieveAnswer as 'retrieve-response',
  readRetrieveQuestion as 'retrieve-request',
  readSaml as saml,
  readSubmissionAnswer as 'xdr-response',
  readSubmissionCase as 'xdr-request',
};
