import type { Generated } from 'kysely';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type { CsvLayout } from '../../../shared/bulk-csv/layout.ts';
import type {
  JsonColumn,
  NullableJsonColumn,
} from '../../platform/database/schema.ts';
import type { PersonalIdentifier } from '../patients/rules/demographics.ts';

export type BulkRequestState =
  | 'waiting'
  | 'processing'
  | 'completed'
  | 'failed'
  | 'expired';

declare module '../../platform/database/schema.ts' {
  interface Database {
    bulk_request: {
      id: string;
      account_id: string;
      facility_id: string;
      dry_run: boolean;
      status: BulkRequestState;
      paused: Generated<boolean>;
      /** Why the request failed; shown to the caller, without personal data. */
      reason: string | null;
      created_at: Instant;
      upload_expires_at: Date;
      /**
       * When the first upload began. An upload that began in time is accepted
       * even if it ends after the URL expired.
       */
      upload_begun_at: Date | null;
      /**
       * When the lease of a running upload was last renewed (upload-store.ts).
       */
      upload_seen_at: Date | null;
      upload: NullableJsonColumn<BlobRef>;
      uploaded_at: Date | null;
      /** When the upload was signalled to the workflow. */
      upload_announced_at: Date | null;
      /**
       * When the CSV was deleted after its retention; `upload` keeps its hash.
       */
      upload_deleted_at: Date | null;
      /** Result of the format check. */
      layout: NullableJsonColumn<CsvLayout>;
      rows: Generated<number>;
      handled: Generated<number>;
      created: Generated<number>;
      updated: Generated<number>;
      failed: Generated<number>;
      result: NullableJsonColumn<BlobRef>;
      ended_at: Date | null;
      workflow_started_at: Date | null;
      /**
       * Time spent on rows, without pauses: the total of past stretches.
       * `active_since` is the start of the current one.
       */
      active_ms: Generated<number>;
      active_since: Date | null;
    };
    bulk_chunk: {
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
      /**
       * This chunk's part of the result CSV; null until the chunk is done, and
       * after the parts were joined.
       */
      result: NullableJsonColumn<BlobRef>;
      completed_at: Date | null;
    };
    bulk_patient: {
      request_id: string;
      account_id: string;
      patient_id: string;
      /** The first row about this patient. */
      first_row: number;
      /** The post-import query that was started. */
      query_id: string | null;
      sweep_outcome: 'started' | 'skipped' | 'failed' | null;
    };
    bulk_trial_key: {
      request_id: string;
      key: Buffer;
      account_id: string;
      /**
       * A patient of the account or, if `first_row` is set, a patient that the
       * row would have created.
       */
      person_id: string;
      first_row: number | null;
    };
    bulk_trial_identifier: {
      request_id: string;
      account_id: string;
      person_id: string;
      identifiers: JsonColumn<PersonalIdentifier[]>;
    };
  }
}
