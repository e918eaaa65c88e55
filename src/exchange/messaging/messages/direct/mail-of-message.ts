import { bareId, type MailToWrite, XDM_SUBJECT } from '#direct';
import type { Demographics } from '../../../people/patients/rules/demographics.ts';
import type { StoredMessage } from '../message-store.ts';
import type { SentAttachment } from '../message-transport.ts';
import type { MailboxSettings } from './mailbox-settings.ts';
import { packageOfMessage } from './package-of-message.ts';

/**
 * A message as mail. Its ids follow from the message's, so that a repeated one
 * is the same to whoever takes it.
 */
export async function mailOfMessage(
  message: StoredMessage,
  patient: Demographics & { id: string },
  files: readonly SentAttachment[],
  { address: from, xdmTo = [] }: Pick<MailboxSettings, 'address' | 'xdmTo'>,
): Promise<MailToWrite & { to: [string] }> {
  const { id, destination, sentAt, subject, body } = message;
  const messageId = mailIdOf(id, from);
  const isPackage =
    files.length > 0 &&
    (xdmTo.includes(destination.toLowerCase()) ||
      xdmTo.includes(domainOf(destination)));

  return {
    messageId,
    from,
    to: [destination],
    sentAt,
    subject: isPackage ? `${XDM_SUBJECT}+${subject}` : subject,
    text: body ?? '',
    attachments: isPackage
      ? [await packageOfMessage(message, patient, files, from)]
      : files,
    context: {
      id: messageId,
      purpose: 'treatment',
      patient: contextPatient(patient),
    },
  };
}

/** The Message-ID, without brackets. */
export const mailIdOf = (messageId: string, from: string): string =>
  `${messageId}@${domainOf(from)}`;

/** Our message that a Message-ID names; undefined for one of others. */
export function messageOfMailId(
  mailId: string | undefined,
  from: string,
): string | undefined {
  const bare = bareId(mailId)?.toLowerCase() ?? '';
  const [id = ''] = bare.split('@', 1);

  return UUID.test(id) && bare === mailIdOf(id, from) ? id : undefined;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** In lower case. */
export const domainOf = (address: string): string =>
  address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/** Whom the message is about, by the names of the guide; the SSN is left out. */
function contextPatient({
  firstNames: [givenName = '', ...middleNames],
  lastNames,
  dob,
  gender,
  addresses: [address],
}: Demographics) {
  return {
    givenName,
    ...(middleNames.length > 0 && { middleName: middleNames.join(' ') }),
    surname: lastNames.join(' '),
    dateOfBirth: dob,
    gender,
    ...(address && {
      localityName: address.city,
      stateOrProvinceName: address.state,
      postalCode: address.zip,
    }),
  };
}
