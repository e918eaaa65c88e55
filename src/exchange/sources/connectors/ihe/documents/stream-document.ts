import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { type AttachmentStore, accountForRetrieval } from '#ihe';
import type { LargeAttachment } from '../../connector.ts';
import { badResponse } from '../../http/failures.ts';
import type { CommunityPatient } from '../discovery/community-patient.ts';
import type { Gateway } from '../gateway.ts';
import type { PlannedDocument } from './plan.ts';
import {
  askForDocuments,
  failureOfAnswer,
  isAsDescribed,
} from './retrieve-documents.ts';

/** A document that is not held in memory, and what was seen while it came. */
export interface StreamedDocument {
  attachment: LargeAttachment;
  /** Whether it came whole, with other bytes than its entry describes. */
  differs(): boolean;
}

/** Retrieves one document as it is read; reading it anew asks anew. */
export function streamDocument(
  gateway: Gateway,
  patients: readonly CommunityPatient[],
  document: PlannedDocument,
  signal: AbortSignal,
): StreamedDocument {
  let isOther = false;
  async function* chunks(): AsyncGenerator<Buffer> {
    const sha1 = createHash('sha1');
    let sizeBytes = 0;
    for await (const chunk of retrieved(gateway, patients, document, signal)) {
      sizeBytes += chunk.length;
      if (sizeBytes > gateway.config.documentBytesMax)
        throw badResponse(
          gateway.config.source,
          `answered a document with more than ${gateway.config.documentBytesMax} bytes`,
        );
      sha1.update(chunk);
      yield chunk;
    }
    isOther = !isAsDescribed(document, sizeBytes, sha1.digest('hex'));
  }
  const { id: sourceDocumentId, contentType } = document;
  return {
    attachment: { sourceDocumentId, contentType, chunks },
    differs: () => isOther,
  };
}

async function* retrieved(
  gateway: Gateway,
  patients: readonly CommunityPatient[],
  document: PlannedDocument,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const content = new PassThrough();
  const given = new AbortController();
  const reading = readInto(
    content,
    gateway,
    patients,
    document,
    AbortSignal.any([signal, given.signal]),
  ).then(
    () => void content.end(),
    (error: unknown) => void content.destroy(error as Error),
  );
  try {
    yield* content as AsyncIterable<Buffer>;
  } finally {
    given.abort();
    content.destroy();
    await reading;
  }
}

/**
 * Writes the first attachment of the answer, as it comes, and verifies
 * afterwards that it is the document.
 */
async function readInto(
  content: PassThrough,
  gateway: Gateway,
  patients: readonly CommunityPatient[],
  document: PlannedDocument,
  signal: AbortSignal,
): Promise<void> {
  let count = 0;
  const store: AttachmentStore<number> = () => {
    count += 1;
    const place = count;
    return {
      write: (bytes) => (place === 1 ? writeTo(content, bytes) : undefined),
      close: () => place,
    };
  };
  const { envelope, answer } = await askForDocuments(gateway, patients, {
    asked: [document],
    store,
    bytesMax: gateway.config.documentBytesMax,
    signal,
  });
  const [found] = accountForRetrieval([document], answer.documents).received;
  if (found === undefined) throw failureOfAnswer(gateway, answer);
  const { content: where } = found.document;
  if (where.in === 'message' && count === 0)
    return writeTo(content, where.bytes);
  const attachment =
    where.in === 'attachment'
      ? envelope.attachment(where.reference)
      : undefined;
  if (attachment?.stored !== 1 || !attachment.isComplete)
    throw badResponse(
      gateway.config.source,
      'announced a document and did not send it whole',
    );
}

/** Waits until the reader has taken what came before. */
async function writeTo(content: PassThrough, bytes: Buffer): Promise<void> {
  if (!content.write(bytes)) await once(content, 'drain');
}
