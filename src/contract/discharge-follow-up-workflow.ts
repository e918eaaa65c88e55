/** What starts a `dischargeFollowUp` workflow: ids and a time. */
export interface DischargeFollowUpInput {
  accountId: string;
  /** Of the discharge. */
  notificationId: string;
  /** ISO 8601: the rounds are counted from here, however late the workflow starts. */
  startedAt: string;
}

/** Names of the messages that a running `dischargeFollowUp` takes. */
export const DISCHARGE_FOLLOW_UP_MESSAGES = {
  /** Query: `DischargeFollowUpProgress`. */
  status: 'status',
  /** Signal: the follow-up's row has changed (the discharge was taken back); a hint only. */
  look: 'look',
  /** Update with a validator: ends it. */
  cancel: 'cancel',
} as const;

/** The one public snapshot of a running follow-up (query `status`), and its result. */
export interface DischargeFollowUpProgress {
  notificationId: string;
  state: 'waiting' | 'watching' | 'new-data' | 'no-new-data' | 'cancelled';
  /** Rounds that were made, of `rounds`. */
  round: number;
  rounds: number;
  /** ISO 8601: when the source is asked next. */
  nextRoundAt?: string;
  reason?: string;
}

/** What a step of the workflow finds. */
export interface FollowUpStep {
  state: 'open' | 'new-data' | 'no-new-data' | 'cancelled';
  reason?: string;
  /** A query of this follow-up has not ended yet. */
  isQueryRunning: boolean;
}
