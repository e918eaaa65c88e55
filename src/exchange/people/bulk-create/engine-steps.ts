import type { BulkCounts } from '../../../contract/bulk-create.ts';
import type {
  RowsHandled,
  UploadCheck,
} from '../../../contract/bulk-create-workflow.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../../platform/database/database.ts';

export interface BulkEngineDeps {
  store: Store;
  blobs: BlobStore;
  /** ID_HMAC_KEY */
  hmacKey: string;
  /** Rows of a chunk; default 2,000. Tests use fewer. */
  chunkRows?: number;
}

export interface StepOptions {
  /**
   * Ends the step at the next safe point: it rejects with the signal's reason,
   * and may be called again.
   */
  signal?: AbortSignal;
  /** Called for each block of bytes that is read. */
  heartbeat?: () => void;
}

export interface ProcessOptions {
  signal?: AbortSignal;
  /** Starts no chunk after this moment (milliseconds since the epoch). */
  untilMs?: number;
  maxChunks?: number;
  /** Called after each committed chunk with the request's counts so far. */
  onChunk?: (counts: BulkCounts) => void;
}

export type ProcessOutcome = Pick<RowsHandled, 'done' | 'counts' | 'stopped'>;
export type CheckOutcome = Exclude<UploadCheck, { kind: 'ended' }>;
