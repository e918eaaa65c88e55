import type { Generated } from 'kysely';
import type { BlobRef } from '../../shared/blobs/blob-store.ts';
import type { Instant, NullableJson } from '../platform/database/columns.ts';

export interface BulkTables {
  bulk_request: BulkRequestTable;
  bulk_chunk: BulkChunkTable;
  bulk_patient: BulkPatientTable;
  bulk_trial_key: BulkTrialKeyTable;
}

export type BulkRequestState = 'waiting' | 'processing' | 'completed' | 'failed' | 'expired';

interface BulkRequestTable {
  id: string;
  account_id: string;
  facility_id: string;
  dry_run: boolean;
  status: BulkRequestState;
  paused: Generated<boolean>;
  /** Of a failed request; for the caller, without personal data. */
  reason: string | null;
  created_at: Instant;
  upload_expires_at: Date;
  /** When the first upload began; an upload begun in time counts. */
  upload_begun_at: Date | null;
  /** Last sign of life of an upload under way (bulk-uploads.ts). */
  upload_seen_at: Date | null;
  upload: NullableJson<BlobRef>;
  uploaded_at: Date | null;
  /** When the workflow was told of the upload. */
  upload_told_at: Date | null;
  /** The CSV is gone after its retention; `upload` still tells its hash. */
  upload_deleted_at: Date | null;
  /** What the format check found: how the file is written and its columns. */
  layout: NullableJson<Record<string, unknown>>;
  rows: Generated<number>;
  handled: Generated<number>;
  created: Generated<number>;
  updated: Generated<number>;
  failed: Generated<number>;
  result: NullableJson<BlobRef>;
  ended_at: Date | null;
  workflow_started_at: Date | null;
  /** Time spent on rows, without pauses: what is over, and since when it goes on. */
  active_ms: Generated<number>;
  active_since: Date | null;
}

interface BulkChunkTable {
  request_id: string;
  chunk: number;
  account_id: string;
  byte_start: number;
  byte_end: number;
  /** Number of its first row in the file, from 1. */
  first_row: number;
  rows: number;
  created: Generated<number>;
  updated: Generated<number>;
  failed: Generated<number>;
  /** The part of the result CSV that this chunk makes; null until it is done. */
  result: NullableJson<BlobRef>;
  completed_at: Date | null;
}

interface BulkPatientTable {
  request_id: string;
  account_id: string;
  patient_id: string;
  /** The first row that told of this patient. */
  first_row: number;
  /** Of the query that the sweep started. */
  query_id: string | null;
  sweep_outcome: 'started' | 'skipped' | 'failed' | null;
}

interface BulkTrialKeyTable {
  request_id: string;
  key: Buffer;
  account_id: string;
  /** A patient of the account, or with `first_row` one that would be new. */
  person_id: string;
  first_row: number | null;
}
