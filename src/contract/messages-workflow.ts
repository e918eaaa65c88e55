export interface MessageKey {
  accountId: string;
  messageId: string;
}

/**
 * Input of the workflow `messageTransmission`. It carries ids only; everything
 * else is read from PostgreSQL.
 */
export interface MessageTransmissionInput extends MessageKey {
  /** How long to wait for the network's receipt. */
  receiptWithinMs: number;
}

/**
 * Written into the input of each new transmission, so that a change applies to
 * new ones only.
 */
export const RECEIPT_WITHIN_MS = 3 * 24 * 3_600_000;

export const MESSAGE_TRANSMISSION_MESSAGES = {
  /** Query: `MessageTransmissionProgress`. */
  status: 'status',
  /**
   * Signal: the network has reported on the message. Only a hint; the message's
   * row is authoritative.
   */
  receipt: 'receipt',
} as const;

/** Result of the query `status`: a snapshot of the transmission. */
export interface MessageTransmissionProgress {
  messageId: string;
  /**
   * `waiting`: handed over to the network, not confirmed yet. `gone`: deleted
   * with its patient.
   */
  state: 'sending' | 'waiting' | 'completed' | 'failed' | 'gone';
  reason?: string;
}

/** State of a message after a step. */
export type TransmissionStep =
  | { state: 'waiting' | 'completed' | 'gone' }
  | { state: 'failed'; reason: string };

/**
 * Why a message failed; shown to the caller. The network's own error text is
 * not shown.
 */
export const MESSAGE_END_REASONS = {
  refused:
    'The network rejected the message; check the destination and the recipients',
  'unknown-recipient': 'The destination does not know the recipient',
  rejected: 'The recipient rejected the message',
  undelivered: 'The network could not deliver the message',
  notHandedOver:
    'The message could not be handed over to the network within 24 hours',
  unconfirmed:
    'The recipient’s system did not confirm the message within an hour; it may have arrived',
  tooLarge:
    'The network does not take a message of this size; send fewer attachments',
  noCertificate:
    'No trusted certificate of the recipient is known, so that the message cannot be encrypted',
  noReceipt: 'The network did not confirm the delivery within 3 days',
  patientGone: 'The patient no longer exists',
  attachmentGone: 'An attached document no longer exists',
  byOperator: 'An operator cancelled the transmission; send the message again',
  workflowGone: 'The workflow was terminated; send the message again',
} as const;
