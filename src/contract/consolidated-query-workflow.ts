/**
 * Input of the workflow `consolidatedQuery`. It carries ids only; everything
 * else is read from PostgreSQL.
 */
export interface ConsolidatedQueryInput {
  accountId: string;
  requestId: string;
}

export const CONSOLIDATED_MESSAGES = {
  /** Query: `ConsolidatedProgress`. */
  status: 'status',
} as const;

/** Result of the query `status`: a snapshot of the consolidated query. */
export interface ConsolidatedProgress {
  requestId: string;
  state: 'processing' | 'completed' | 'failed';
  /** Size of the result. */
  sizeBytes?: number;
  reason?: string;
}

/** State of a query after a step. `gone`: it was deleted with its patient. */
export interface ConsolidatedEnd {
  state: 'completed' | 'failed' | 'gone';
  sizeBytes?: number;
  reason?: string;
}

/** Why a consolidated query failed; shown to the caller. */
export const CONSOLIDATED_END_REASONS = {
  byOperator: 'An operator cancelled the query; start a new one',
  workflowGone: 'The workflow was terminated; start a new query',
  ourFault: 'The exchange could not assemble the data; start a new query',
} as const;
