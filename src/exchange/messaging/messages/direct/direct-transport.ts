import {
  DiscoveryError,
  deliveryOutcome,
  MailServerError,
  protectMail,
  readIdentity,
  type SubmissionAnswer,
  submitMail,
  writeMail,
} from '#direct';
import { findPatient } from '../../../people/patients/patient-store.ts';
import type { Store } from '../../../platform/database/database.ts';
import { PartnerFailure } from '../../../platform/partners/partner-http.ts';
import type { StoredMessage } from '../message-store.ts';
import type {
  DeliveryState,
  MessageTransport,
  SentAttachment,
} from '../message-transport.ts';
import { findStanding, recordHandOver } from './delivery-state-store.ts';
import type { DirectTrust } from './direct-trust.ts';
import { mailOfMessage } from './mail-of-message.ts';
import type { Mailbox } from './mailbox-settings.ts';
import { findMailbox } from './mailbox-store.ts';

/**
 * Sends an account's messages as mail. What the server has taken is on its way;
 * the recipient's notifications, which come as mail too, say how it ends.
 */
export function createDirectTransport(
  store: Pick<Store, 'asAccount'>,
  accountId: string,
  mailbox: Mailbox,
  trust: DirectTrust,
): MessageTransport {
  const { settings, smtp, smime } = mailbox;

  async function send(
    message: StoredMessage,
    files: readonly SentAttachment[],
    signal?: AbortSignal,
  ): Promise<DeliveryState> {
    const { id, patientId, destination } = message;
    const patient =
      patientId === null
        ? undefined
        : await store.asAccount(accountId, (tx) => findPatient(tx, patientId));
    if (patient === undefined)
      return { state: 'failed', reason: 'patientGone' };
    // A worker that was killed after the server took it sends nothing again.
    if (await isHandedOver(id)) return { state: 'accepted' };

    const { asksForDispatched } = settings;
    const mail = {
      ...(await mailOfMessage(message, patient, files, settings)),
      asksForDispatched,
    };
    let bytes = await writeMail(mail);
    if (smime !== undefined) {
      const recipients = await trust
        .certificatesFor(mailbox, destination, signal)
        .catch(asPartnerFailure);
      if (recipients.length === 0)
        return { state: 'failed', reason: 'noCertificate' };
      const sender = readIdentity(smime.certificate, smime.privateKey);
      bytes = await protectMail(bytes, sender, recipients, mail);
    }
    const answer = await submitMail(
      smtp,
      { from: settings.address, to: destination, bytes },
      signal,
    ).catch(asPartnerFailure);
    if (answer === 'accepted')
      await store.asAccount(accountId, (tx) =>
        recordHandOver(tx, id, asksForDispatched),
      );
    return DELIVERY[answer];
  }

  const isHandedOver = async (messageId: string): Promise<boolean> =>
    (await store.asAccount(accountId, (tx) => findStanding(tx, messageId))) !==
    undefined;

  /**
   * By what was read so far: a mailbox that could not be read since proves
   * nothing by its silence.
   */
  async function ask(messageId: string): Promise<DeliveryState> {
    const { standing, readThrough } = await store.asAccount(
      accountId,
      async (tx) => ({
        standing: await findStanding(tx, messageId),
        readThrough: (await findMailbox(tx, accountId))?.readThrough,
      }),
    );
    if (standing === undefined) return { state: 'accepted' };
    const { receipts } = standing;
    const outcome = deliveryOutcome(
      standing,
      receipts,
      readThrough ?? standing.sentAt,
    );
    if (outcome === 'waiting') return { state: 'accepted' };
    if (outcome === 'delivered') return { state: 'delivered' };
    const isSaid = receipts.some(({ says }) => says === 'failed');
    return { state: 'failed', reason: isSaid ? 'undelivered' : 'unconfirmed' };
  }

  return { send, ask };
}

const DELIVERY = {
  accepted: { state: 'accepted' },
  'unknown-recipient': { state: 'failed', reason: 'unknown-recipient' },
  'too-large': { state: 'failed', reason: 'tooLarge' },
  refused: { state: 'failed', reason: 'refused' },
} as const satisfies Record<SubmissionAnswer, DeliveryState>;

/** A refused login may be mended within the time that a message has. */
function asPartnerFailure(error: unknown): never {
  if (error instanceof DiscoveryError)
    throw new PartnerFailure(
      'transport',
      `The certificate of the recipient cannot be looked up (${error.message})`,
      { cause: error },
    );
  if (!(error instanceof MailServerError)) throw error;
  throw new PartnerFailure('transport', error.message, { cause: error });
}
