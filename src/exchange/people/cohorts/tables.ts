import type { Generated } from 'kysely';
import type { CohortSettings } from '../../../contract/cohorts.ts';
import type { JsonColumn } from '../../platform/database/schema.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    cohort: {
      id: string;
      account_id: string;
      name: string;
      description: string;
      color: string;
      purpose_of_use: 'treatment' | 'operations';
      settings: JsonColumn<CohortSettings>;
      version: Generated<number>;
      /** Without the changes in `cohort_size_change`. */
      patients_counted: Generated<number>;
      created_at: Instant;
    };
    cohort_member: {
      account_id: string;
      cohort_id: string;
      patient_id: string;
      added_at: Generated<Date>;
    };
    cohort_size_change: {
      id: Generated<number>;
      account_id: string;
      cohort_id: string;
      change: number;
    };
  }
}
