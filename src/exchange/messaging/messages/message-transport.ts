import type { MESSAGE_END_REASONS } from '../../../contract/messages-workflow.ts';
import type { Members } from '../../platform/database/columns.ts';
import type { StoredMessage } from './message-store.ts';

export interface SentAttachment
  extends Pick<
    Members<'document'>,
    'id' | 'fileName' | 'contentType' | 'createdAt'
  > {
  content: Buffer;
}

/**
 * What a transport knows of a message: `accepted` is to be confirmed later, by
 * a receipt or when it is asked.
 */
export type DeliveryState =
  | { state: 'accepted' | 'delivered' }
  | { state: 'failed'; reason: keyof typeof MESSAGE_END_REASONS };

/**
 * A way by which messages leave. The same message again is the same one to
 * whoever receives it. Throws PartnerFailure when it may help to try later.
 */
export interface MessageTransport {
  send(
    message: StoredMessage,
    attachments: readonly SentAttachment[],
    signal?: AbortSignal,
  ): Promise<DeliveryState>;

  /** How a message stands that was `accepted`. */
  ask(messageId: string, signal?: AbortSignal): Promise<DeliveryState>;
}
