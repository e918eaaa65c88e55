/** What starts a `webhookDelivery` workflow. */
export interface WebhookDeliveryInput {
  accountId: string;
  eventId: string;
  /** Attempts made before this workflow (the courier's); the first wait follows from it. */
  attemptsMade: number;
}

export const WEBHOOK_DELIVERY_MESSAGES = {
  status: 'status',
  /** Try now instead of waiting on: an operator, or an earlier event of the patient has gone out. */
  deliverNow: 'deliverNow',
} as const;

export interface WebhookDeliveryProgress {
  eventId: string;
  state: 'sending' | 'waiting' | 'delivered' | 'dead';
  attemptsMade: number;
}
