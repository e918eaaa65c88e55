import { createHash } from 'node:crypto';
import type { ContextPatient, DirectMail, MailAttachment } from '#direct';
import type { Json } from '#record-summary/fhir';
import {
  MESSAGE_ATTACHMENT_BYTES_MAX,
  MESSAGE_ATTACHMENTS_MAX,
  MESSAGE_BODY_LENGTH_MAX,
} from '../../../../contract/messages.ts';
import type { ArrivedMessage, ReceivedAttachment } from '../take-message.ts';

const SUBJECT_LENGTH_MAX = 1_000;
const FILE_NAME_LENGTH_MAX = 255;

/** Whether a mail has more attached than a message may have. */
export function tooMuchAttached({ attachments }: DirectMail): boolean {
  const sizeBytes = attachments.reduce(
    (sum, { content }) => sum + content.length,
    0,
  );

  return (
    attachments.length > MESSAGE_ATTACHMENTS_MAX ||
    sizeBytes > MESSAGE_ATTACHMENT_BYTES_MAX
  );
}

/** A mail as a message to one of its recipients. */
export function arrivedMessage(
  mail: DirectMail,
  bytes: Buffer,
  recipient: string,
): ArrivedMessage {
  const { from = '', subject = '', text = '', context } = mail;
  const isLong = text.length > MESSAGE_BODY_LENGTH_MAX;
  const attachments = mail.attachments
    .filter(({ content }) => content.length > 0)
    .map(receivedAttachment);

  return {
    senderId: ['direct', from, recipient, mailIdentity(mail, bytes)].join('\n'),
    destination: recipient,
    subject: subject.trim().slice(0, SUBJECT_LENGTH_MAX) || '(no subject)',
    body: isLong || text.trim() === '' ? undefined : text,
    attachments: isLong ? [textFile(text), ...attachments] : attachments,
    patient: context?.patient && contextPatient(context.patient),
  };
}

/** Without a Message-ID, only the same bytes are the same message. */
const mailIdentity = ({ messageId }: DirectMail, bytes: Buffer): string =>
  messageId ?? createHash('sha256').update(bytes).digest('hex');

function receivedAttachment(
  { fileName = '', contentType, content }: MailAttachment,
  index: number,
): ReceivedAttachment {
  const title = fileName
    .replaceAll(/\p{C}/gu, '')
    .trim()
    .slice(0, FILE_NAME_LENGTH_MAX);

  return {
    title: title === '' ? `attachment-${index + 1}` : title,
    contentType: MEDIA_TYPE.test(contentType)
      ? contentType
      : 'application/octet-stream',
    content,
  };
}

const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/;

const textFile = (text: string): ReceivedAttachment => ({
  title: 'message.txt',
  contentType: 'text/plain',
  content: Buffer.from(text),
});

/** Whom the message is about, as its context says. */
function contextPatient(patient: ContextPatient): Json {
  const { givenName, middleName, surname, dateOfBirth, gender = '' } = patient;
  const given = [givenName, middleName].filter((each) => each !== undefined);

  return {
    resourceType: 'Patient',
    name: [{ ...(surname && { family: surname }), given }],
    ...(dateOfBirth && { birthDate: isoDate(dateOfBirth) }),
    ...(GENDERS.has(gender.slice(0, 1).toUpperCase()) && {
      gender: GENDERS.get(gender.slice(0, 1).toUpperCase()) ?? 'unknown',
    }),
    address: [
      {
        ...(patient.streetAddress && { line: [patient.streetAddress] }),
        ...(patient.localityName && { city: patient.localityName }),
        ...(patient.stateOrProvinceName && {
          state: patient.stateOrProvinceName,
        }),
        ...(patient.postalCode && { postalCode: patient.postalCode }),
      },
    ],
  };
}

const GENDERS: ReadonlyMap<string, string> = new Map([
  ['M', 'male'],
  ['F', 'female'],
  ['O', 'other'],
]);

const isoDate = (written: string): string =>
  written.replace(/^(\d{4})(\d{2})(\d{2})$/, '$1-$2-$3');
