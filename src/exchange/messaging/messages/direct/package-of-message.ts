import { type AttachmentToWrite, writeXdm, xdmFileName } from '#direct';
import { buildMediaMetadata } from '#ihe';
import type { Demographics } from '../../../people/patients/rules/demographics.ts';
import type { StoredMessage } from '../message-store.ts';
import type { SentAttachment } from '../message-transport.ts';
import {
  oidOfUuid,
  submissionOfMessage,
} from '../xdr/submission-of-message.ts';

/**
 * The attachments of a message as a package of documents (XDM), with the same
 * metadata as by XDR. A Direct sender has no OID: that of the account's id
 * stands for it.
 */
export async function packageOfMessage(
  message: StoredMessage,
  patient: Demographics & { id: string },
  files: readonly SentAttachment[],
  from: string,
): Promise<AttachmentToWrite> {
  const names = files.map(({ fileName }, at) => xdmFileName(at, fileName));
  const { submission } = submissionOfMessage(
    { ...message, body: null },
    patient,
    files,
    {
      ownHomeCommunity: oidOfUuid(message.accountId),
      organizationName: from,
    },
  );
  const documents = submission.documents.map(({ metadata }, at) => ({
    metadata: { ...metadata, uri: names[at] ?? '' },
  }));

  return {
    fileName: 'xdm.zip',
    contentType: 'application/zip',
    content: await writeXdm({
      metadata: buildMediaMetadata({ ...submission, documents }),
      sender: from,
      madeAt: message.sentAt,
      documents: files.map(({ fileName: title, content }, at) => ({
        name: names[at] ?? '',
        title,
        content,
      })),
    }),
  };
}
