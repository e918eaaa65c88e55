import type { SourceType } from './primitives.ts';

/** Input of the workflow `networkQuery`: ids and numbers only. */
export interface NetworkQueryInput {
  accountId: string;
  requestId: string;
  /** 0 for the query itself; n ≥ 1 for the nth redrive, which queries single sources again after the query's end. */
  run: number;
  sources: { source: SourceType; attempt: number }[];
}

/** Signal: a source reports that its data is ready. Only a hint; the data is always fetched. */
export interface SourceCallback {
  source: SourceType;
  attempt: number;
}

/** Input of the updates `retrySource` and `giveUpSource`. */
export interface SourceCommand {
  source: SourceType;
}

/** Names of the signals, queries and updates of `networkQuery`. */
export const NETWORK_QUERY_MESSAGES = {
  status: 'status',
  sourceCallback: 'sourceCallback',
  retrySource: 'retrySource',
  giveUpSource: 'giveUpSource',
  cancelQuery: 'cancelQuery',
} as const;

export interface SourceProgress {
  source: SourceType;
  attempt: number;
  state: 'asking' | 'waiting' | 'collecting' | 'backing-off' | 'completed' | 'failed';
  resources: number;
  reason?: string;
}

/** Result of the query `status`: a snapshot of the network query. */
export interface NetworkQueryProgress {
  requestId: string;
  run: number;
  status: 'running' | 'completed' | 'partial' | 'failed';
  sources: SourceProgress[];
}
