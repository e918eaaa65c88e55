import type { z } from 'zod';
import {
  type AttachmentToWrite,
  CONTEXT_PATIENT_ATTRIBUTES,
  type ContextPatient,
  writeMail,
  writeXdm,
  XDM_SUBJECT,
  xdmFileName,
} from '#direct';
import { buildMediaMetadata } from '#ihe';
import type { letterRequest } from '../../../src/local-stack/simulator/letters.ts';
import { submittedDocuments, withTwoSets } from '../ihe/submitted-documents.ts';

type Letter = z.output<typeof letterRequest>;

/** A letter as mail, as another provider writes it. */
export async function writeLetter(letter: Letter): Promise<Buffer> {
  const { messageId, from, to, subject, body, patient, isPackage } = letter;

  return writeMail({
    messageId,
    from,
    to: [to],
    sentAt: new Date(),
    subject: isPackage ? `${XDM_SUBJECT}+${subject}` : subject,
    text: body,
    attachments: isPackage ? [await packageOf(letter)] : filesOf(letter),
    ...(patient && {
      context: { id: messageId, patient: contextPatient(patient) },
    }),
  });
}

const filesOf = ({ attachments }: Letter): AttachmentToWrite[] =>
  attachments.map(({ content, ...attachment }) => ({
    ...attachment,
    content: Buffer.from(content, 'base64'),
  }));

async function packageOf(letter: Letter): Promise<AttachmentToWrite> {
  const { from, trouble } = letter;
  const { set, documents } = submittedDocuments(letter);
  const named = documents.map((document, at) => ({
    ...document,
    name: xdmFileName(at, document.fileName),
  }));
  const metadata = buildMediaMetadata({
    ...set,
    documents: named.map((document) => ({
      metadata: { ...document.metadata, uri: document.name },
    })),
  });
  const content = await writeXdm({
    metadata:
      trouble === 'two-sets' ? withTwoSets(metadata, set.entryUuid) : metadata,
    sender: from,
    madeAt: new Date(),
    documents: named.flatMap(({ name, fileName, content: bytes }) =>
      bytes === undefined ? [] : [{ name, title: fileName, content: bytes }],
    ),
  });

  return {
    fileName: 'xdm.zip',
    contentType: 'application/zip',
    content: trouble === 'damaged' ? content.subarray(0, -30) : content,
  };
}

const contextPatient = (
  patient: Readonly<Record<string, string>>,
): ContextPatient =>
  Object.fromEntries(
    CONTEXT_PATIENT_ATTRIBUTES.flatMap((name) => {
      const value = patient[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
