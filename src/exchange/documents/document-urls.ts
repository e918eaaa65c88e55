import { v7 as uuidv7 } from 'uuid';
import { DOCUMENT_URLS_EVENT_TYPE, type DocumentUrlsEvent } from '../../contract/documents.ts';
import type { StoredPatient } from '../patients/patient-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertEvent } from '../platform/outbox/event-store.ts';
import { listDocuments } from './document-store.ts';

/**
 * Announces links to all documents of a patient. What they lead to is known at once, so there is nothing to run: the
 * webhook is the whole work (decision 34). Links are put in when it is sent.
 */
export async function announceDocumentUrls(
  tx: AccountTx,
  { id: patientId, externalId, additionalIdentifiers }: StoredPatient,
): Promise<{ requestId: string }> {
  const requestId = uuidv7();
  const type = DOCUMENT_URLS_EVENT_TYPE;
  const documents = await listDocuments(tx, patientId);
  const occurredAt = new Date();
  const told: Omit<DocumentUrlsEvent['patients'][number], 'documents'> = {
    patientId,
    externalId: externalId ?? undefined,
    ...(Object.keys(additionalIdentifiers ?? {}).length === 0
      ? {}
      : { additionalIds: additionalIdentifiers }),
    status: 'completed',
  };
  await insertEvent(tx, {
    type,
    factKey: `${type}/${requestId}`,
    patientId,
    requestId,
    occurredAt,
    body: {
      meta: { requestId, when: occurredAt.toISOString(), type },
      patients: [
        {
          ...told,
          documents: documents.map(({ id, fileName, contentType, sizeBytes }) => ({
            id,
            fileName,
            mimeType: contentType,
            size: sizeBytes,
          })),
        },
      ],
    },
  });
  return { requestId };
}
