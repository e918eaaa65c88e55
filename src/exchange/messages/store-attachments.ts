import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import { extensionOf } from '../documents/file-name.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertDocuments, type NewDocument, upsertResources } from '../records/delivery-store.ts';
import { insertSourcePatientIds } from '../records/source-patient-store.ts';
import type { ReceivedAttachment } from './attachments.ts';
import type { StoredMessage } from './message-store.ts';

/** An attachment whose bytes are stored, and to which no row refers yet. */
export interface StoredAttachment extends Omit<NewDocument, 'patientId' | 'messageId'> {
  title: string;
  /** SHA-1 in base64, as FHIR's `Attachment.hash` requires. */
  hash: string;
}

/** Stores the bytes of the attachments. When one fails, the stored ones are deleted again. */
export async function storeAttachments(
  blobs: Pick<BlobStore, 'put' | 'delete'>,
  attachments: readonly ReceivedAttachment[],
): Promise<StoredAttachment[]> {
  const stored: StoredAttachment[] = [];
  try {
    for (const { title, contentType, content } of attachments) {
      const blob = await blobs.put('document', content, contentType);
      const id = uuidv7();
      stored.push({
        ...{ id, title, source: 'message', kind: 'attachment', sourceDocumentId: id, contentType },
        fileName: `message-${id}.${extensionOf(contentType)}`,
        sizeBytes: blob.sizeBytes,
        sha256: Buffer.from(blob.sha256, 'hex'),
        hash: createHash('sha1').update(content).digest('base64'),
        blobRef: blob.ref,
      });
    }
    return stored;
  } catch (error) {
    await deleteAttachments(blobs, stored);
    throw error;
  }
}

export async function deleteAttachments(
  blobs: Pick<BlobStore, 'delete'>,
  stored: readonly Pick<StoredAttachment, 'blobRef'>[],
): Promise<void> {
  for (const { blobRef } of stored) await blobs.delete(blobRef);
}

/**
 * Inserts a message's attachments as documents. If the message has a patient, each also becomes a DocumentReference in the
 * patient's record, delivered by the source `message`. Without a patient they can be read only by their ids.
 */
export async function insertAttachments(
  tx: AccountTx,
  message: StoredMessage,
  stored: readonly StoredAttachment[],
): Promise<void> {
  const { patientId } = message;
  await insertDocuments(
    tx,
    stored.map(({ title: _title, hash: _hash, ...document }) => ({
      ...document,
      patientId,
      messageId: message.id,
    })),
  );
  if (patientId === null || stored.length === 0) return;
  // A message names its person by demographics, so our patient id stands in for the id at the source.
  await insertSourcePatientIds(tx, patientId, 'message', [patientId]);
  for (const document of stored)
    await upsertResources(tx, { patientId, source: 'message', documentId: document.id }, [
      deliveryOf(referenceOf(message, document)),
    ]);
}

const referenceOf = ({ patientId, subject, sentAt }: StoredMessage, document: StoredAttachment) => ({
  resourceType: 'DocumentReference',
  id: document.id,
  meta: { source: document.fileName },
  status: 'current',
  subject: { reference: `Patient/${patientId}` },
  date: sentAt.toISOString(),
  description: `${subject}: ${document.title}`,
  content: [
    {
      attachment: {
        contentType: document.contentType,
        title: document.title,
        size: document.sizeBytes,
        hash: document.hash,
      },
    },
  ],
});

function deliveryOf(resource: ReturnType<typeof referenceOf>) {
  const json = JSON.stringify(resource);
  const sha256 = createHash('sha256').update(json).digest('hex');
  return { resourceType: resource.resourceType, sourceId: resource.id, sha256, json, revision: '' };
}
