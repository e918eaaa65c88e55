/** Input of the workflow `dischargeFollowUp`. */
export interface DischargeFollowUpInput {
  accountId: string;
  /** The notification of the discharge. */
  notificationId: string;
  /** ISO 8601. The rounds are scheduled from this time, however late the workflow starts. */
  startedAt: string;
}

/** Names of the signals, queries and updates of `dischargeFollowUp`. */
export const DISCHARGE_FOLLOW_UP_MESSAGES = {
  /** Query: `DischargeFollowUpProgress`. */
  status: 'status',
  /** Signal: the follow-up's row has changed (the discharge was withdrawn). Only a hint; the row is authoritative. */
  look: 'look',
  /** Update with a validator: ends the follow-up. */
  cancel: 'cancel',
} as const;

/** Result of the query `status`, and of the workflow. */
export interface DischargeFollowUpProgress {
  notificationId: string;
  state: 'waiting' | 'watching' | 'new-data' | 'no-new-data' | 'cancelled';
  /** Number of rounds made so far, of `rounds`. */
  round: number;
  rounds: number;
  /** Time of the next round, ISO 8601. */
  nextRoundAt?: string;
  reason?: string;
}

/** State of the follow-up after a step. */
export interface FollowUpStep {
  state: 'open' | 'new-data' | 'no-new-data' | 'cancelled';
  reason?: string;
  /** True while a query of this follow-up is in progress. */
  isQueryRunning: boolean;
}
