/**
 * Input of the workflow `queryRedrive`. PostgreSQL holds the filter, the place
 * and the counts.
 */
export interface QueryRedriveInput {
  accountId: string;
  redriveId: string;
  /** Number of pages after which the workflow continues as new. */
  pagesPerRun: number;
}

export const REDRIVE_PAGES_PER_RUN = 200;

/** Names of the queries of `queryRedrive`. */
export const QUERY_REDRIVE_MESSAGES = {
  /** Query: `RedriveProgress`. */
  status: 'status',
} as const;

/** Where a redrive stands. */
export interface RedriveProgress {
  state: 'running' | 'completed' | 'cancelled';
  queries: number;
  retried: number;
  skipped: number;
  failed: number;
}

/** What one page did, and how long the next one has to wait. */
export interface RedrivePage {
  progress: RedriveProgress;
  wait?: { ms: number; why: string };
}
