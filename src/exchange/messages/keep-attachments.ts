import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import { extensionOf } from '../documents/file-name.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertDocuments, type NewDocument, upsertResources } from '../records/delivery-store.ts';
import { insertSourcePatientIds } from '../records/source-patient-store.ts';
import type { ReceivedAttachment } from './attachments.ts';
import type { StoredMessage } from './message-store.ts';

/** An attachment whose bytes are kept, and that no row names yet. */
export interface KeptAttachment extends Omit<NewDocument, 'patientId' | 'messageId'> {
  title: string;
  /** As FHIR has it: SHA-1 in base64. */
  hash: string;
}

/** Keeps the bytes. When one fails, none is left behind. */
export async function keepBytes(
  blobs: Pick<BlobStore, 'put' | 'delete'>,
  attachments: readonly ReceivedAttachment[],
): Promise<KeptAttachment[]> {
  const kept: KeptAttachment[] = [];
  try {
    for (const { title, contentType, content } of attachments) {
      const blob = await blobs.put('document', content, contentType);
      const id = uuidv7();
      kept.push({
        ...{ id, title, source: 'message', kind: 'attachment', sourceDocumentId: id, contentType },
        fileName: `message-${id}.${extensionOf(contentType)}`,
        sizeBytes: blob.sizeBytes,
        sha256: Buffer.from(blob.sha256, 'hex'),
        hash: createHash('sha1').update(content).digest('base64'),
        blobRef: blob.ref,
      });
    }
    return kept;
  } catch (error) {
    await dropBytes(blobs, kept);
    throw error;
  }
}

export async function dropBytes(
  blobs: Pick<BlobStore, 'delete'>,
  kept: readonly Pick<KeptAttachment, 'blobRef'>[],
): Promise<void> {
  for (const { blobRef } of kept) await blobs.delete(blobRef);
}

/**
 * Makes documents of a message's attachments: the patient's, with what is known of each as a delivery of the source `message`; or
 * nobody's, to be had by their ids alone.
 */
export async function insertAttachments(
  tx: AccountTx,
  message: StoredMessage,
  kept: readonly KeptAttachment[],
): Promise<void> {
  const { patientId } = message;
  await insertDocuments(
    tx,
    kept.map(({ title: _title, hash: _hash, ...document }) => ({
      ...document,
      patientId,
      messageId: message.id,
    })),
  );
  if (patientId === null || kept.length === 0) return;
  // Under their own id: a message names a person by demographics.
  await insertSourcePatientIds(tx, patientId, 'message', [patientId]);
  for (const document of kept)
    await upsertResources(tx, { patientId, source: 'message', documentId: document.id }, [
      delivered(referenceOf(message, document)),
    ]);
}

const referenceOf = ({ patientId, subject, sentAt }: StoredMessage, document: KeptAttachment) => ({
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

function delivered(resource: ReturnType<typeof referenceOf>) {
  const json = JSON.stringify(resource);
  const sha256 = createHash('sha256').update(json).digest('hex');
  return { resourceType: resource.resourceType, sourceId: resource.id, sha256, json, revision: '' };
}
