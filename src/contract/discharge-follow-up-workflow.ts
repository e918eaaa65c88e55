/** Input of the workflow `dischargeFollowUp`. */
export interface DischargeFollowUpInput {
  accountId: string;
  /** The notification of the discharge. */
  notificationId: string;
  /**
   * ISO 8601. The rounds are scheduled from this time, however late the
   * workflow starts.
   */
  startedAt: string;
  plan: FollowUpPlan;
}

/**
 * When the source is queried again, in milliseconds since the discharge became
 * known.
 */
export interface FollowUpPlan {
  roundsMs: readonly number[];
  /**
   * How long to wait for the query of the last round: longer than all attempts
   * of an hie source together.
   */
  lastQueryMs: number;
}

const HOUR_MS = 3_600_000;

/**
 * Written into the input of each new follow-up, so that a change applies to new
 * ones only.
 */
export const FOLLOW_UP_PLAN: FollowUpPlan = {
  roundsMs: [
    HOUR_MS / 12,
    HOUR_MS / 2,
    4 * HOUR_MS,
    24 * HOUR_MS,
    48 * HOUR_MS,
    96 * HOUR_MS,
  ],
  lastQueryMs: 7 * 24 * HOUR_MS,
};

/** Names of the signals, queries and updates of `dischargeFollowUp`. */
export const DISCHARGE_FOLLOW_UP_MESSAGES = {
  /** Query: `DischargeFollowUpProgress`. */
  status: 'status',
  /**
   * Signal: the follow-up's row has changed (the discharge was withdrawn). Only
   * a hint; the row is authoritative.
   */
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
