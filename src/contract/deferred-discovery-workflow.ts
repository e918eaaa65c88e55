/**
 * Input of the workflow `deferredDiscovery`. It carries ids only; everything
 * else is read from PostgreSQL.
 */
export interface DeferredDiscoveryInput {
  accountId: string;
  questionId: string;
}

/**
 * State of a deferred patient discovery after a step. `gone`: it ended before,
 * or its membership was paused or deleted.
 */
export interface DeferredDiscoveryStep {
  state: 'delivered' | 'failed' | 'gone';
}

export const DEFERRED_DISCOVERY_MESSAGES = {
  /** Query: `DeferredDiscoveryProgress`. */
  status: 'status',
} as const;

/** Result of the query `status`. */
export interface DeferredDiscoveryProgress {
  questionId: string;
  state: 'answering' | DeferredDiscoveryStep['state'];
}
