/**
 * What reconcile does: it deletes what is past its time or belongs to nothing,
 * and heals (everything else).
 */
export const RECONCILE_PARTS = ['deleting', 'healing'] as const;
export type ReconcilePart = (typeof RECONCILE_PARTS)[number];

/** What one round of reconcile did for one kind of work. */
export interface KindReconciled {
  /** Unfinished items that were found. */
  found: number;
  /** How many of them are completed now, or in progress again. */
  healed: number;
  failed: number;
  /** Age of the oldest of the items found. */
  oldestSeconds?: number;
}

/** One of the two stores was probably restored from a backup, or emptied. */
export type RestoreSuspicion = 'postgresql-is-older' | 'temporal-is-older';

/** Where a round begins, as the round before has left it. */
export interface ReconcilePosition {
  /** Number of rounds so far. */
  rounds: number;
  /**
   * By kind, where the round continues, for kinds that examine all rows slice
   * by slice.
   */
  cursors: Record<string, string>;
}

export interface Reconciled extends ReconcilePosition {
  /**
   * By the name of the kind; kinds for which there was nothing to do are left
   * out.
   */
  kinds: Record<string, KindReconciled>;
  /**
   * Set if the rounds known to PostgreSQL and to the workflow differ; then all
   * open work is looked at again.
   */
  suspicion?: RestoreSuspicion;
  /** Parts that an operator has paused. Absent: none. */
  paused?: ReconcilePart[];
  /** Some kind has more to do, so that the next round should follow at once. */
  isBehind: boolean;
}

export interface ReconcileLoopInput {
  intervalMs: number;
  /** The result of the last round, when the workflow continues as new. */
  last?: Reconciled;
}

/** Public state of `reconcileLoop`. */
export interface ReconcileLoopStatus {
  intervalMs: number;
  /** All parts are paused, or will be before the next round. */
  isPaused: boolean;
  /** ISO 8601. */
  lastRoundAt?: string;
  last?: Reconciled;
  /**
   * Why the last round failed as a whole, for example because the worker was
   * killed.
   */
  failure?: string;
}

export const RECONCILE_LOOP_MESSAGES = {
  status: 'status',
  /** Makes a round now, and sets the interval in milliseconds. */
  roundDue: 'roundDue',
  /**
   * Pauses all parts; to pause one of them: `npm run admin -- reconcile pause`.
   */
  pause: 'pause',
  resume: 'resume',
} as const;
