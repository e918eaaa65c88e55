import type { Generated } from 'kysely';
import type {
  ConsolidatedStatus,
  ConversionType,
} from '../../../contract/consolidated-query.ts';
import type { Metadata } from '../../../contract/network-query.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type { NullableJsonColumn } from '../../platform/database/schema.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    consolidated_query: {
      id: string;
      account_id: string;
      patient_id: string;
      status: Generated<ConsolidatedStatus>;
      conversion_type: ConversionType;
      resources: string[] | null;
      /** YYYY-MM-DD */
      date_from: string | null;
      /** YYYY-MM-DD */
      date_to: string | null;
      parameters: string;
      metadata: NullableJsonColumn<Metadata>;
      reason: string | null;
      result: NullableJsonColumn<BlobRef>;
      created_at: Instant;
      ended_at: Date | null;
      workflow_started_at: Date | null;
      result_deleted_at: Date | null;
    };
  }
}
