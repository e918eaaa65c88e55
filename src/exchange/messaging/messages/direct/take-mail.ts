import {
  type ArrivedMail,
  DirectError,
  type DirectMail,
  isTrusted,
  openMail,
  readCertificates,
  readIdentity,
  readMail,
  speaksFor,
} from '#direct';
import type { MailboxRead } from '../../../../contract/direct-mailbox-workflow.ts';
import { transportOf } from '../../../../contract/messages.ts';
import type { Store } from '../../../platform/database/database.ts';
import {
  recipientAt,
  type TakeMessageDeps,
  takeMessage,
} from '../take-message.ts';
import { domainOf } from './mail-of-message.ts';
import type { Mailbox } from './mailbox-settings.ts';
import { arrivedMessage, tooMuchAttached } from './message-of-mail.ts';
import { notifySender } from './notify-sender.ts';
import { type TakeReportDeps, takeReport } from './take-report.ts';

export interface TakeMailDeps extends TakeMessageDeps, TakeReportDeps {
  store: Pick<Store, 'asAccount' | 'asSystem'>;
}

type TakenAs = Exclude<keyof MailboxRead, 'isGone'>;

/** So many addresses of a mail are looked up at most. */
const RECIPIENTS_MAX = 50;

/**
 * Takes in one mail of an account's mailbox: a message to the account, or a
 * report about one of its own. Where nobody is to have it, its sender is told
 * that it failed.
 */
export async function takeMail(
  deps: TakeMailDeps,
  accountId: string,
  mailbox: Mailbox,
  { bytes, arrivedAt, isWhole }: ArrivedMail,
): Promise<TakenAs> {
  const mail = await readArrived(bytes, mailbox.smime);
  if (mail?.from === undefined) return 'ignored';

  if (mail.report !== undefined) {
    const isTaken = await takeReport(deps, accountId, mailbox, {
      mail,
      report: mail.report,
      arrivedAt,
    });
    return isTaken ? 'receipts' : 'ignored';
  }

  const recipients = await ownRecipients(deps, accountId, mail);
  const [recipient] = recipients;
  if (recipient === undefined) return returned(mailbox, mail);
  if (!isWhole || tooMuchAttached(mail)) {
    await notifySender(mailbox, mail, recipient, 'failed');
    return 'returned';
  }

  let isNew = false;
  for (const each of recipients) {
    const message = arrivedMessage(mail, bytes, each);
    const taken = await takeMessage(deps, accountId, message);
    isNew ||= taken.isNew;
    await notifySender(mailbox, mail, each, 'processed');
  }
  return isNew ? 'received' : 'known';
}

/**
 * The mail as it can be believed: from a provider, all that it put into the
 * mailbox; else what is encrypted for us and signed by somebody whom we trust
 * and who speaks for the sender. Undefined otherwise: strangers get no answer.
 */
async function readArrived(
  bytes: Buffer,
  smime: Mailbox['smime'],
): Promise<DirectMail | undefined> {
  try {
    if (smime === undefined) return await readMail(bytes);
    const identity = readIdentity(smime.certificate, smime.privateKey);
    const opened = await openMail(bytes, [identity]);
    const mail = await readMail(opened.mail);
    const anchors = readCertificates(smime.anchors);
    const isFromSender = opened.signers.some(
      (signer) =>
        speaksFor(signer, mail.from ?? '') &&
        isTrusted(signer, opened.certificates, anchors, new Date()),
    );
    return isFromSender ? mail : undefined;
  } catch (error) {
    if (error instanceof DirectError) return undefined;
    throw error;
  }
}

/** The addresses of this account, and of no other, that a mail is for. */
async function ownRecipients(
  { store }: Pick<TakeMailDeps, 'store'>,
  accountId: string,
  mail: DirectMail,
): Promise<string[]> {
  const addresses = [
    ...mail.to,
    ...mail.cc,
    ...mail.header('delivered-to').map((each) => each.trim().toLowerCase()),
  ].filter((each) => transportOf(each) === 'direct');
  const own: string[] = [];
  for (const address of [...new Set(addresses)].slice(0, RECIPIENTS_MAX)) {
    const found = await recipientAt(store, address);
    if (typeof found === 'object' && found.accountId === accountId)
      own.push(address);
  }
  return own;
}

/** A mail to an address of our domain that the account does not have. */
async function returned(mailbox: Mailbox, mail: DirectMail): Promise<TakenAs> {
  const domain = domainOf(mailbox.settings.address);
  const unknown = [...mail.to, ...mail.cc].find(
    (each) => domainOf(each) === domain,
  );
  if (unknown === undefined) return 'ignored';

  await notifySender(mailbox, mail, unknown, 'failed');
  return 'returned';
}
