/** What starts a `consolidatedQuery` workflow: ids only. */
export interface ConsolidatedQueryInput {
  accountId: string;
  requestId: string;
}

export const CONSOLIDATED_MESSAGES = {
  /** Query: `ConsolidatedProgress`. */
  status: 'status',
} as const;

/** The one public snapshot of a consolidated query (query `status`). */
export interface ConsolidatedProgress {
  requestId: string;
  state: 'processing' | 'completed' | 'failed';
  /** Of the result. */
  sizeBytes?: number;
  reason?: string;
}

/** How a query stands after a step. `gone`: deleted with its patient. */
export interface ConsolidatedEnd {
  state: 'completed' | 'failed' | 'gone';
  sizeBytes?: number;
  reason?: string;
}

/** Why a consolidated query failed; shown to the caller. */
export const CONSOLIDATED_END_REASONS = {
  byOperator: 'Cancelled by an operator; start it again',
  workflowGone: 'The workflow was ended from outside; start it again',
  ourFault: 'The exchange could not put the data together; start it again',
} as const;
