import { createHash } from 'node:crypto';
import type { ContextPatient, DirectMail, MailAttachment } from '#direct';
import type { Json } from '#record-summary/fhir';
import { MESSAGE_BODY_LENGTH_MAX } from '../../../../contract/messages.ts';
import type { ArrivedMessage, ReceivedAttachment } from '../take-message.ts';
import { type OpenedPackage, withoutXdmPrefix } from './open-package.ts';

const SUBJECT_LENGTH_MAX = 1_000;
const FILE_NAME_LENGTH_MAX = 255;

/** What a mail brings to each of its recipients. */
export type BroughtMessage = Omit<ArrivedMessage, 'senderId' | 'destination'>;

/**
 * A mail as a message: its text and its files, or the documents of its package.
 *
 * @param opened its package of documents, if it has one
 */
export function messageOfMail(
  mail: DirectMail,
  opened: OpenedPackage | undefined,
): BroughtMessage {
  const { subject = '', context, attachments } = mail;
  const text = textOf(mail.text) ?? textOf(opened?.body) ?? '';
  const isLong = text.length > MESSAGE_BODY_LENGTH_MAX;
  const written = withoutXdmPrefix(subject).trim() || opened?.subject;

  return {
    subject: written?.slice(0, SUBJECT_LENGTH_MAX) || '(no subject)',
    body: isLong || text === '' ? undefined : text,
    attachments: [
      ...(isLong ? [textFile(text)] : []),
      ...(opened?.attachments ?? []),
      ...(opened?.others ?? attachments)
        .filter(({ content }) => content.length > 0)
        .map(receivedAttachment),
    ],
    patients: [
      ...(opened?.patients ?? []),
      ...(context?.patient ? [contextPatient(context.patient)] : []),
    ],
  };
}

const textOf = (text: string | undefined): string | undefined =>
  text?.trim() ? text : undefined;

/** The sender's id of a mail to one of its recipients. */
export const senderIdOf = (
  mail: DirectMail,
  bytes: Buffer,
  recipient: string,
): string =>
  ['direct', mail.from ?? '', recipient, mailIdentity(mail, bytes)].join('\n');

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
