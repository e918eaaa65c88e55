import { createHash } from 'node:crypto';
import {
  type DirectMail,
  protectMail,
  readIdentity,
  submitMail,
  writeDisposition,
} from '#direct';
import { domainOf } from './mail-of-message.ts';
import type { Mailbox } from './mailbox-settings.ts';
import { certificatesOfRecipient } from './recipient-certificates.ts';

/**
 * Tells the sender of a mail what became of it at a recipient. `processed` says
 * that it is ours now; a sender who asked for it also hears that it was
 * delivered.
 *
 * A notification that its receiver refuses for good is given up.
 *
 * @throws {MailServerError} when it may help to try later
 */
export async function notifySender(
  mailbox: Mailbox,
  mail: DirectMail,
  recipient: string,
  disposition: 'processed' | 'failed',
): Promise<void> {
  if (!mailbox.settings.notifies) return;

  await notify(mailbox, mail, recipient, disposition);
  if (disposition === 'processed' && asksForDispatched(mail))
    await notify(mailbox, mail, recipient, 'dispatched');
}

async function notify(
  { settings, smtp, smime }: Mailbox,
  { from: to, messageId: about }: DirectMail,
  recipient: string,
  disposition: 'processed' | 'dispatched' | 'failed',
): Promise<void> {
  if (to === undefined || about === undefined) return;
  const from = settings.address;
  const head = {
    messageId: idOf([about, recipient, disposition], from),
    from,
    to: [to],
    sentAt: new Date(),
  };
  const bytes = await writeDisposition({
    ...head,
    to,
    about,
    disposition,
    recipient,
    reportingAgent: `${domainOf(from)}; medical-data-exchange`,
  });
  const sender = smime && readIdentity(smime.certificate, smime.privateKey);
  const certificates = smime && certificatesOfRecipient(smime, to);
  if (certificates?.length === 0) return;

  await submitMail(smtp, {
    from,
    to,
    bytes:
      sender === undefined || certificates === undefined
        ? bytes
        : await protectMail(bytes, sender, certificates, head),
  });
}

/** The same notification again has the same id. */
const idOf = (parts: readonly string[], from: string): string =>
  `${createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 32)}@${domainOf(from)}`;

const asksForDispatched = (mail: DirectMail): boolean =>
  mail
    .header('disposition-notification-options')
    .some((each) =>
      /x-direct-final-destination-delivery\s*=\s*\w+\s*,\s*true/i.test(each),
    );
