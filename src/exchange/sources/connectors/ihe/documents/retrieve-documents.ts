import { createHash } from 'node:crypto';
import {
  type AttachmentStore,
  accountForRetrieval,
  buildRetrieve,
  CROSS_GATEWAY_ACTIONS,
  type Envelope,
  type MessageAttachment,
  type RetrievedDocument,
  type RetrieveResponse,
  readRetrieveResponse,
  registryErrors,
  weightiestMeaning,
  writeCx,
} from '#ihe';
import { mediaTypeOf } from '../../../../records/deliveries/inline-files.ts';
import type { Attachment, SourceFailure } from '../../connector.ts';
import { badResponse } from '../../http/failures.ts';
import type { CommunityPatient } from '../discovery/community-patient.ts';
import { callGateway, type Gateway } from '../gateway.ts';
import { failureOfCodes, shownCodes } from '../ihe-failures.ts';
import { communityAddress } from './list-documents.ts';
import type { PlannedDocument } from './plan.ts';

export const RETRIEVAL = 'the retrieval of documents (ITI-39)';

/** A document that did not come, and why as far as the gateway says. */
export interface MissingDocument {
  asked: PlannedDocument;
  failure: SourceFailure;
  /** It is there, and too large to be held in memory. */
  isLarge?: boolean;
}

export interface Retrieval {
  attachments: Attachment[];
  missing: MissingDocument[];
  /** Documents that nobody asked for. */
  unaskedCount: number;
  /** Documents whose bytes are not as the list has described them. */
  differingCount: number;
}

/**
 * Held in memory up to this size, also all of one answer together; what is
 * larger is streamed.
 */
export const HELD_BYTES_MAX = 8_000_000;

/**
 * Retrieves documents of one community with one request, and counts what comes
 * against what was asked. One that is too large to be held is among the missing.
 * @throws SourceFailure when nothing was answered
 */
export async function retrieveDocuments(
  gateway: Gateway,
  patients: readonly CommunityPatient[],
  asked: readonly PlannedDocument[],
  signal: AbortSignal,
): Promise<Retrieval> {
  const { envelope, answer } = await askForDocuments(gateway, patients, {
    asked,
    store: heldUpTo(HELD_BYTES_MAX),
    bytesMax: gateway.config.documentBytesMax * asked.length,
    signal,
  });
  const { received, missing, unasked } = accountForRetrieval(
    asked,
    answer.documents,
  );
  const failure = failureOfAnswer(gateway, answer);
  if (received.length === 0 && mayPassOrConcernsAll(answer)) throw failure;
  const retrieval: Retrieval = {
    attachments: [],
    missing: missing.map((each) => ({ asked: each, failure })),
    unaskedCount: unasked.length,
    differingCount: 0,
  };
  for (const { asked: document, document: found } of received) {
    const bytes = bytesOf(envelope, found);
    if (bytes === 'too-large')
      retrieval.missing.push({ asked: document, failure, isLarge: true });
    else if (bytes === undefined)
      retrieval.missing.push({
        asked: document,
        failure: badResponse(
          gateway.config.source,
          'announced a document and did not send it whole',
        ),
      });
    else {
      if (!isAsDescribed(document, bytes.length, sha1Of(bytes)))
        retrieval.differingCount += 1;
      retrieval.attachments.push({
        sourceDocumentId: document.id,
        contentType: contentTypeOf(found, document),
        bytes,
      });
    }
  }
  return retrieval;
}

/** The request and the answer, whatever it says. */
export async function askForDocuments<Stored>(
  gateway: Gateway,
  patients: readonly CommunityPatient[],
  {
    asked,
    store,
    bytesMax,
    signal,
  }: {
    asked: readonly PlannedDocument[];
    store: AttachmentStore<Stored>;
    bytesMax: number;
    signal: AbortSignal;
  },
): Promise<{ envelope: Envelope<Stored>; answer: RetrieveResponse }> {
  const [first] = asked;
  const patient = patients[first?.patient ?? 0];
  const { retrieveUrl } = communityAddress(gateway, first?.homeCommunity ?? '');
  const answered = await callGateway(gateway, {
    transaction: 'ITI-39',
    label: RETRIEVAL,
    url: retrieveUrl,
    action: CROSS_GATEWAY_ACTIONS.retrieve,
    body: buildRetrieve(asked),
    isMtom: true,
    ...(patient === undefined
      ? {}
      : {
          resourceId: writeCx({
            id: patient.localId,
            authority: patient.authority,
          }),
        }),
    store,
    limits: { bytes: bytesMax + gateway.config.pageBytesMax },
    signal,
  });
  if (answered === undefined)
    throw badResponse(gateway.config.source, `did not answer ${RETRIEVAL}`);
  const { envelope, payload } = answered;
  return { envelope, answer: readRetrieveResponse(payload) };
}

/** Whether an answer without documents is about the request as a whole. */
function mayPassOrConcernsAll(answer: RetrieveResponse): boolean {
  const meaning = weightiestMeaning(registryErrors(answer.problems));
  return (
    meaning === 'again-later' || answer.remarks.includes('unknown-message')
  );
}

/** Why documents are missing from an answer, as far as it says. */
export function failureOfAnswer(
  { config }: Gateway,
  answer: RetrieveResponse,
): SourceFailure {
  const errors = registryErrors(answer.problems);
  const codes = errors.map(({ code }) => code);
  const meaning = weightiestMeaning(errors);
  if (meaning === undefined || shownCodes(codes) === '')
    return badResponse(
      config.source,
      'left out documents that were asked for, without a reason',
    );
  return failureOfCodes(config.source, RETRIEVAL, meaning, codes);
}

type Held = Buffer | 'too-large';

function heldUpTo(bytesMax: number): AttachmentStore<Held> {
  let heldBytes = 0;
  return () => {
    const chunks: Buffer[] = [];
    let isHeld = true;
    return {
      write(bytes) {
        heldBytes += bytes.length;
        isHeld &&= heldBytes <= bytesMax;
        if (isHeld) chunks.push(bytes);
        else heldBytes -= bytes.length + sizeOf(chunks.splice(0));
      },
      close: () => (isHeld ? Buffer.concat(chunks) : 'too-large'),
    };
  };
}

const sizeOf = (chunks: readonly Buffer[]): number =>
  chunks.reduce((sum, { length }) => sum + length, 0);

/** Undefined when its attachment did not come, or not to its end. */
function bytesOf(
  envelope: Envelope<Held>,
  { content }: RetrievedDocument,
): Held | undefined {
  if (content.in === 'message') return content.bytes;
  if (content.in === 'nowhere') return undefined;
  const attachment: MessageAttachment<Held> | undefined = envelope.attachment(
    content.reference,
  );
  return attachment?.isComplete === true ? attachment.stored : undefined;
}

const sha1Of = (bytes: Buffer): string =>
  createHash('sha1').update(bytes).digest('hex');

/** Whether a document is as its entry says, as far as the entry says it. */
export const isAsDescribed = (
  { sizeBytes = undefined, sha1 }: PlannedDocument,
  actualBytes: number,
  actualSha1: string,
): boolean =>
  (sizeBytes === undefined || sizeBytes === actualBytes) &&
  (sha1 === undefined || sha1 === actualSha1);

function contentTypeOf(
  found: RetrievedDocument,
  asked: PlannedDocument,
): string {
  const sent = mediaTypeOf(found.mimeType);
  return sent === 'application/octet-stream' ? asked.contentType : sent;
}
