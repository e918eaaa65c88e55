import type { Generated } from 'kysely';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type {
  JsonColumn,
  NullableJsonColumn,
} from '../../platform/database/schema.ts';
import type { ConsolidatedPlace } from '../../records/reading/read-consolidated.ts';
import type { ExportFileKind, TypeFilters } from './rules/export-request.ts';
import type { ViewPlan } from './rules/view-run.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    bulk_export: {
      id: string;
      account_id: string;
      cohort_id: string | null;
      actor: string;
      request: string;
      types: string[] | null;
      type_filters: JsonColumn<TypeFilters>;
      since: Date | null;
      status: Generated<'running' | 'completed' | 'failed' | 'cancelled'>;
      reason: string | null;
      transaction_time: Date;
      patients: number | null;
      slices: Generated<number>;
      done: Generated<number>;
      place: NullableJsonColumn<ConsolidatedPlace>;
      resources: Generated<number>;
      created_at: Instant;
      workflow_started_at: Date | null;
      ended_at: Date | null;
      files_deleted_at: Date | null;
      view_plan: NullableJsonColumn<ViewPlan>;
      view_key: string | null;
      base_id: string | null;
      known_slices: Generated<number>;
    };
    bulk_export_patient: {
      export_id: string;
      ordinal: number;
      account_id: string;
      patient_id: string;
      is_whole: boolean;
    };
    bulk_export_part: {
      export_id: string;
      kind: ExportFileKind;
      resource_type: string;
      slice: number;
      account_id: string;
      content: JsonColumn<BlobRef>;
      lines: number;
    };
  }
}
