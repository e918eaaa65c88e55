/** Input of the workflow `webhookDelivery`. */
export interface WebhookDeliveryInput {
  accountId: string;
  /** Id of the event's row for one destination; for the destination of the settings it equals the message id. */
  eventId: string;
  /** Attempts already made by the webhook dispatcher; determines the first delay. */
  attemptsMade: number;
  /** Delay that the receiver requested with Retry-After at the last of these attempts. */
  retryAfterMs?: number;
}

export const WEBHOOK_DELIVERY_MESSAGES = {
  status: 'status',
  /** Signal: try now. Sent by an operator, or when an earlier event of the same patient has been delivered. */
  deliverNow: 'deliverNow',
} as const;

export interface WebhookDeliveryProgress {
  eventId: string;
  /** `closed`: nothing left to do, because the event was delivered otherwise or its destination no longer exists. */
  state: 'sending' | 'waiting' | 'delivered' | 'dead' | 'closed';
  attemptsMade: number;
}
