import type { Generated } from 'kysely';
import type { DUPLICATE_STATUSES } from '../../../contract/possible-duplicates.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    possible_duplicate: {
      id: string;
      account_id: string;
      patient_id: string;
      other_patient_id: string;
      grade: 'certain' | 'probable' | 'possible';
      score: number;
      agrees: string[];
      contradicts: Generated<string[]>;
      rules_version: number;
      status: Generated<(typeof DUPLICATE_STATUSES)[number]>;
      found_at: Instant;
      decided_at: Date | null;
    };
    patient_to_compare: {
      id: Generated<string>;
      account_id: string;
      patient_id: string;
      noted_at: Instant;
    };
  }
}
