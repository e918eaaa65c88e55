import type { FastifyReply } from 'fastify';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { BlobNotFoundError } from '../../../shared/blobs/blob-store.ts';
import { ExchangeError, NotFoundError } from '../../platform/errors.ts';
import { contentDisposition } from '../../platform/http/content-disposition.ts';
import { orNotFound } from '../../platform/http/operation.ts';
import type { FoundDocument, StoredDocument } from './document-store.ts';

/** No scripts run in a document, and nothing is loaded by it. */
export const DOCUMENT_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";
/** Valid content types; any other text from a source is replaced by octet-stream. */
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?:;\s*charset=[\w.-]{1,40})?$/;

export const servedTypeOf = ({ contentType }: Pick<StoredDocument, 'contentType'>): string =>
  MEDIA_TYPE.test(contentType) ? contentType : 'application/octet-stream';

/** @throws 404 without a document, 410 if its source has withdrawn it: it may be wrong or about another person. */
export function notWithdrawn(document: FoundDocument | undefined): FoundDocument {
  const found = orNotFound('Document', document);
  if (found.isTakenBack) throw new ExchangeError(410, 'The source has withdrawn this document');
  return found;
}

/** Sends a document as its source delivered it, as a download. */
export function sendDocument(
  blobs: BlobStore,
  document: StoredDocument,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply
    .header('content-security-policy', DOCUMENT_POLICY)
    .type(servedTypeOf(document))
    .header('content-disposition', contentDisposition('attachment', document.fileName));
  return sendBlob(blobs, document, reply);
}

export async function sendBlob(
  blobs: BlobStore,
  { blobRef, sizeBytes }: { blobRef: string; sizeBytes: number },
  reply: FastifyReply,
): Promise<FastifyReply> {
  const content = await openBlob(blobs, blobRef);
  return reply.header('content-length', sizeBytes).send(content);
}

/** @throws NotFoundError */
export async function openBlob(blobs: BlobStore, blobRef: string) {
  try {
    return await blobs.get(blobRef);
  } catch (error) {
    throw error instanceof BlobNotFoundError ? new NotFoundError('Document') : error;
  }
}
