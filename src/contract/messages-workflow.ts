/** What starts a `messageTransmission` workflow: ids only. */
export interface MessageTransmissionInput {
  accountId: string;
  messageId: string;
}

export const MESSAGE_TRANSMISSION_MESSAGES = {
  /** Query: `MessageTransmissionProgress`. */
  status: 'status',
  /** Signal, a hint: the network has something to tell of the message. */
  receipt: 'receipt',
} as const;

/** The one public snapshot of a transmission (query `status`). */
export interface MessageTransmissionProgress {
  messageId: string;
  /** waiting: handed over, and not confirmed yet. gone: deleted with its patient. */
  state: 'sending' | 'waiting' | 'completed' | 'failed' | 'gone';
  reason?: string;
}

/** Where a message stands after a step. */
export type TransmissionStep =
  | { state: 'waiting' | 'completed' | 'gone' }
  | { state: 'failed'; reason: string };

/** Why a message failed; shown to the caller. What the network says in its own words is not. */
export const MESSAGE_END_REASONS = {
  refused: 'The network refused the message; check destination and recipients',
  'unknown-recipient': 'The destination does not know the recipient',
  rejected: 'The recipient rejected the message',
  undelivered: 'The network could not deliver the message',
  notHandedOver: 'The message could not be handed over to the network within 24 hours',
  noReceipt: 'The network did not confirm the delivery within 3 days',
  attachmentGone: 'A document that was attached is no longer there',
  byOperator: 'Cancelled by an operator; send it again',
  workflowGone: 'The workflow was ended from outside; send it again',
} as const;
