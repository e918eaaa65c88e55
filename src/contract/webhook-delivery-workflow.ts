/** What starts a `webhookDelivery` workflow. */
export interface WebhookDeliveryInput {
  accountId: string;
  /** Of the event's row for one destination; for the destination of the settings it is the message's id. */
  eventId: string;
  /** Attempts made before this workflow (the webhook dispatcher's); the first wait follows from it. */
  attemptsMade: number;
  /** What the receiver asked for at the last of them (Retry-After). */
  retryAfterMs?: number;
}

export const WEBHOOK_DELIVERY_MESSAGES = {
  status: 'status',
  /** Try now instead of waiting on: an operator, or an earlier event of the patient has gone out. */
  deliverNow: 'deliverNow',
} as const;

export interface WebhookDeliveryProgress {
  eventId: string;
  /** closed: nothing was left to do; delivered by somebody else, or its destination is gone. */
  state: 'sending' | 'waiting' | 'delivered' | 'dead' | 'closed';
  attemptsMade: number;
}
