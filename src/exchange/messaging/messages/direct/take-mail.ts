import {
  type ArrivedMail,
  DirectError,
  type DirectMail,
  openMail,
  readIdentity,
  readMail,
} from '#direct';
import type { MailboxRead } from '../../../../contract/direct-mailbox-workflow.ts';
import { transportOf } from '../../../../contract/messages.ts';
import type { Store } from '../../../platform/database/database.ts';
import {
  recipientAt,
  type TakeMessageDeps,
  takeMessage,
} from '../take-message.ts';
import type { DirectTrust } from './direct-trust.ts';
import { domainOf } from './mail-of-message.ts';
import type { Mailbox } from './mailbox-settings.ts';
import {
  type BroughtMessage,
  messageOfMail,
  senderIdOf,
} from './message-of-mail.ts';
import { type BelievedMail, notifySender } from './notify-sender.ts';
import { openPackage, type Refusal, tooMuchAttached } from './open-package.ts';
import { type TakeReportDeps, takeReport } from './take-report.ts';

export interface TakeMailDeps extends TakeMessageDeps, TakeReportDeps {
  store: Pick<Store, 'asAccount' | 'asSystem'>;
  directTrust: DirectTrust;
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
  const trust = deps.directTrust;
  const arrived = await readArrived(bytes, mailbox, trust);
  if (arrived?.mail.from === undefined) return 'ignored';

  const { mail } = arrived;
  const notify = (
    recipient: string,
    disposition: 'processed' | 'failed',
    reason?: string,
  ) =>
    notifySender({ mailbox, trust }, arrived, recipient, disposition, reason);

  if (mail.report !== undefined) {
    const isTaken = await takeReport(deps, accountId, mailbox, {
      mail,
      report: mail.report,
      arrivedAt,
    });
    return isTaken ? 'receipts' : 'ignored';
  }

  const recipients = await ownRecipients(deps, accountId, mail);
  if (recipients.length === 0) {
    const unknown = unknownAt(mailbox, mail);
    if (unknown === undefined) return 'ignored';
    await notify(unknown, 'failed', NOBODY_RECEIVES);
    return 'returned';
  }
  const brought = isWhole ? await broughtBy(mail) : TOO_LARGE;
  if ('refusal' in brought) {
    for (const each of recipients)
      await notify(each, 'failed', brought.refusal);
    return 'returned';
  }

  let isNew = false;
  for (const each of recipients) {
    const taken = await takeMessage(deps, accountId, {
      ...brought,
      senderId: senderIdOf(mail, bytes, each),
      destination: each,
    });
    isNew ||= taken.isNew;
    await notify(each, 'processed');
  }
  return isNew ? 'received' : 'known';
}

const TOO_LARGE: Refusal = { refusal: 'The message is too large.' };

/** What a mail brings, or why it is not taken. */
async function broughtBy(mail: DirectMail): Promise<BroughtMessage | Refusal> {
  const refusal = tooMuchAttached(mail.attachments);
  if (refusal !== undefined) return { refusal };

  const opened = await openPackage(mail);
  if (opened !== undefined && 'refusal' in opened) return opened;

  const message = messageOfMail(mail, opened);
  const excess = tooMuchAttached(message.attachments);
  return excess === undefined ? message : { refusal: excess };
}

/**
 * The mail as it can be believed: from a provider, all that it put into the
 * mailbox; else what is encrypted for us and signed by somebody whom we trust
 * and who speaks for the sender. Undefined otherwise: strangers get no answer.
 */
async function readArrived(
  bytes: Buffer,
  mailbox: Mailbox,
  trust: DirectTrust,
): Promise<BelievedMail | undefined> {
  const { smime } = mailbox;
  try {
    if (smime === undefined) return { mail: await readMail(bytes) };
    const identity = readIdentity(smime.certificate, smime.privateKey);
    const opened = await openMail(bytes, [identity]);
    const mail = await readMail(opened.mail);
    const signer = await trust.signerFor(mailbox, mail.from ?? '', opened);
    return signer && { mail, signer };
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

const NOBODY_RECEIVES = 'Nobody receives messages at this address here.';

/** An address of our domain that the account does not have. */
function unknownAt(
  { settings }: Mailbox,
  { to, cc }: DirectMail,
): string | undefined {
  const domain = domainOf(settings.address);

  return [...to, ...cc].find((each) => domainOf(each) === domain);
}
