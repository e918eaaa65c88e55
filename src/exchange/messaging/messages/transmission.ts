import type { MessageNetwork } from '../../../contract/messages.ts';
import {
  MESSAGE_END_REASONS,
  type MessageKey,
  type TransmissionStep,
} from '../../../contract/messages-workflow.ts';
import {
  BlobNotFoundError,
  type BlobStore,
} from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../../platform/database/database.ts';
import { PartnerFailure } from '../../platform/partners/partner-http.ts';
import type { Submissions } from '../../sources/connections/submissions.ts';
import type { DirectTransports } from './direct/direct-transports.ts';
import { endTransmission, failDelivered } from './launcher.ts';
import {
  documentsOfPatient,
  findMessage,
  type StoredMessage,
} from './message-store.ts';
import type {
  DeliveryState,
  MessageTransport,
  SentAttachment,
} from './message-transport.ts';
import { createXdrTransport } from './xdr/xdr-transport.ts';

export type Transmission = ReturnType<typeof createTransmission>;

/**
 * The steps of transmitting a message. Each reads the state from the message's
 * row first, so each may run twice.
 */
export function createTransmission(deps: {
  store: Store;
  blobs: Pick<BlobStore, 'read'>;
  /** The gateways that take messages by XDR; default: none. */
  submissions?: Submissions;
  /** The mailboxes that send by Direct; default: none. */
  directTransports?: DirectTransports;
}) {
  const { store } = deps;
  const read = ({ accountId, messageId }: MessageKey) =>
    store.asAccount(accountId, (tx) => findMessage(tx, messageId));

  async function end(
    of: MessageKey,
    how: { status: 'completed' } | { status: 'failed'; reason: string },
  ): Promise<TransmissionStep> {
    const message = await store.asAccount(of.accountId, (tx) =>
      endTransmission(tx, of.messageId, how),
    );
    return stepOf(message ?? (await read(of)));
  }

  /** Applies a delivery state to the message's row. */
  function apply(
    of: MessageKey,
    delivery: DeliveryState,
  ): Promise<TransmissionStep> {
    switch (delivery.state) {
      case 'accepted':
        return Promise.resolve({ state: 'waiting' });
      case 'delivered':
        return end(of, { status: 'completed' });
      case 'failed':
        return end(of, {
          status: 'failed',
          reason: MESSAGE_END_REASONS[delivery.reason],
        });
    }
  }

  /**
   * A failure that came while the message was being ended as delivered found it
   * open, and did nothing to it.
   */
  async function readAgain(
    of: MessageKey,
    way: MessageTransport,
    step: TransmissionStep,
  ): Promise<TransmissionStep> {
    const state = await way.ask(of.messageId);
    if (state.state !== 'failed') return step;
    const message = await store.asAccount(of.accountId, (tx) =>
      failDelivered(tx, of.messageId, MESSAGE_END_REASONS[state.reason]),
    );
    return message === undefined ? step : stepOf(message);
  }

  /**
   * The documents to send, with their bytes; undefined when one of them was
   * deleted.
   */
  async function attachmentsOf(
    accountId: string,
    patientId: string,
    { attachments }: StoredMessage,
  ): Promise<SentAttachment[] | undefined> {
    const documents = await store.asAccount(accountId, (tx) =>
      documentsOfPatient(tx, patientId, attachments),
    );
    if (documents.length < attachments.length) return undefined;
    const sent: SentAttachment[] = [];
    for (const { blobRef, sizeBytes: _, ...document } of documents) {
      const content = await deps.blobs.read(blobRef).catch((error: unknown) => {
        if (error instanceof BlobNotFoundError) return undefined;
        throw error;
      });
      if (content === undefined) return undefined;
      sent.push({ ...document, content });
    }
    return sent;
  }

  /**
   * The account's gateway for the message's network, or its mail server. Throws
   * PartnerFailure when it has none any more: it may get one in time.
   */
  async function wayOf(
    accountId: string,
    { network }: StoredMessage,
  ): Promise<MessageTransport> {
    const way =
      network === null
        ? await deps.directTransports?.of(accountId)
        : await gatewayFor(accountId, network);
    if (way !== undefined) return way;
    throw new PartnerFailure(
      'transport',
      network === null
        ? 'The account has no Direct mailbox any more'
        : 'The account has no connection any more that takes messages for the network',
    );
  }

  async function gatewayFor(
    accountId: string,
    network: MessageNetwork,
  ): Promise<MessageTransport | undefined> {
    const gateway = await deps.submissions?.gatewayTo(accountId, network);
    return gateway && createXdrTransport(store, accountId, gateway);
  }

  return {
    /**
     * Hands the message over. Throws PartnerFailure when it is not accepted
     * now.
     */
    async transmit(
      of: MessageKey,
      signal?: AbortSignal,
    ): Promise<TransmissionStep> {
      const message = await read(of);
      if (message?.status !== 'processing') return stepOf(message);
      const { patientId } = message;
      if (patientId === null)
        return end(of, {
          status: 'failed',
          reason: MESSAGE_END_REASONS.patientGone,
        });
      const attachments = await attachmentsOf(of.accountId, patientId, message);
      if (attachments === undefined)
        return end(of, {
          status: 'failed',
          reason: MESSAGE_END_REASONS.attachmentGone,
        });
      const way = await wayOf(of.accountId, message);
      return apply(of, await way.send(message, attachments, signal));
    },
    /**
     * Reads what the recipient has reported. Throws PartnerFailure when that
     * cannot be known now.
     */
    async check(
      of: MessageKey,
      signal?: AbortSignal,
    ): Promise<TransmissionStep> {
      const message = await read(of);
      if (message?.status !== 'processing') return stepOf(message);
      const way = await wayOf(of.accountId, message);
      const state = await way.ask(of.messageId, signal);
      const step = await apply(of, state);
      return state.state === 'delivered' ? readAgain(of, way, step) : step;
    },
    /**
     * Ends the message as failed, unless it has ended. @param reason shown to
     * the caller
     */
    fail: (of: MessageKey, reason: string) =>
      end(of, { status: 'failed', reason }),
  };
}

function stepOf(message: StoredMessage | undefined): TransmissionStep {
  if (message === undefined) return { state: 'gone' };
  switch (message.status) {
    case 'processing':
      return { state: 'waiting' };
    case 'completed':
      return { state: 'completed' };
    case 'failed':
      return { state: 'failed', reason: message.reason ?? '' };
  }
}
