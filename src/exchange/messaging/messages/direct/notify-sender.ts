import { createHash, type X509Certificate } from 'node:crypto';
import {
  type DirectMail,
  DiscoveryError,
  isMeantFor,
  protectMail,
  readIdentity,
  submitMail,
  writeDisposition,
} from '#direct';
import type { DirectTrust } from './direct-trust.ts';
import { domainOf } from './mail-of-message.ts';
import type { Mailbox } from './mailbox-settings.ts';

/**
 * Tells the sender of a mail what became of it at a recipient. `processed` says
 * that it is ours now; a sender who asked for it also hears that it was
 * delivered.
 *
 * A notification that its receiver refuses for good, or that cannot be
 * encrypted for it, is given up: it must not hold the mail after it.
 *
 * @param reason why it failed, in words that tell nothing of the mail
 * @throws {MailServerError} when it may help to try later
 */
export async function notifySender(
  { mailbox, trust }: NotifyDeps,
  arrived: BelievedMail,
  recipient: string,
  disposition: 'processed' | 'failed',
  reason?: string,
): Promise<void> {
  if (!mailbox.settings.notifies) return;

  const notify = (what: Disposition) =>
    sendNotification({ mailbox, trust }, arrived, recipient, what, reason);
  await notify(disposition);
  if (disposition === 'processed' && asksForDispatched(arrived.mail))
    await notify('dispatched');
}

export interface NotifyDeps {
  mailbox: Mailbox;
  trust: DirectTrust;
}

/** A mail that is from whom it says. */
export interface BelievedMail {
  mail: DirectMail;

  /** Who signed it, where we read signatures ourselves. */
  signer?: X509Certificate | undefined;
}

type Disposition = 'processed' | 'dispatched' | 'failed';

async function sendNotification(
  { mailbox, trust }: NotifyDeps,
  { mail: { from: to, messageId: about }, signer }: BelievedMail,
  recipient: string,
  disposition: Disposition,
  reason?: string,
): Promise<void> {
  if (to === undefined || about === undefined) return;

  const { settings, smtp, smime } = mailbox;
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
    reason,
    reportingAgent: `${domainOf(from)}; medical-data-exchange`,
  });
  if (smime === undefined) {
    await submitMail(smtp, { from, to, bytes });
    return;
  }

  // Whoever signed has the key: mostly, nobody has to be asked.
  const certificates =
    signer !== undefined && isMeantFor(signer, 'encrypting')
      ? [signer]
      : await trust.certificatesFor(mailbox, to).catch(noneNow);
  if (certificates.length === 0) return;

  const sender = readIdentity(smime.certificate, smime.privateKey);
  await submitMail(smtp, {
    from,
    to,
    bytes: await protectMail(bytes, sender, certificates, head),
  });
}

function noneNow(error: unknown): X509Certificate[] {
  if (error instanceof DiscoveryError) return [];
  throw error;
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
