/** Input of the workflow `webhookDestination`. */
export interface WebhookDestinationInput {
  accountId: string;
  destinationId: string;
  /** `deliverNow` was received before a continue-as-new. */
  dueNow?: boolean;
}

export const WEBHOOK_DESTINATION_MESSAGES = {
  status: 'status',
  /**
   * Signal: look at the events again; sent when one could not be delivered at
   * once.
   */
  look: 'look',
  /**
   * Signal: send all waiting events now, whatever their schedules. Sent by an
   * operator, or when the destination was set.
   */
  deliverNow: 'deliverNow',
} as const;

export interface WebhookDestinationProgress {
  destinationId: string;
  /**
   * `held`: the destination fails, and the next event that it gets is a probe.
   */
  state: 'sending' | 'waiting' | 'held' | 'empty';
  /** Events that this run has delivered. */
  delivered: number;
  /** While waiting or held: when the next event is sent. */
  nextAttemptAt?: string;
  /** Result of the latest attempt that failed, such as `503`. */
  lastFailure?: string;
}
