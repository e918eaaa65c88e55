import type { SourceType } from './primitives.ts';

/** What starts a `networkQuery` workflow: ids and states only. */
export interface NetworkQueryInput {
  accountId: string;
  requestId: string;
  /** 0 is the query itself; later runs take up single sources after its end. */
  run: number;
  sources: { source: SourceType; attempt: number }[];
}

/** A source says that its answer is ready; a hint only, the data is always fetched. */
export interface SourceCallback {
  source: SourceType;
  attempt: number;
}

export interface SourceCommand {
  source: SourceType;
}

/** Names of the messages that a running `networkQuery` takes. */
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

/** The one public snapshot of a running query (query `status`). */
export interface NetworkQueryProgress {
  requestId: string;
  run: number;
  status: 'running' | 'completed' | 'partial' | 'failed';
  sources: SourceProgress[];
}
