import type { Generated } from 'kysely';
import type { ReconcilePart } from '../../../contract/reconcile-workflow.ts';

declare module '../database/schema.ts' {
  interface Database {
    activity_start: {
      account_id: string;
      work: string;
      progress: string;
      starts: Generated<number>;
      processes: Generated<string[]>;
      started_at: Instant;
    };
    reconcile_pause: {
      part: ReconcilePart;
      paused_at: Generated<Date>;
      paused_by: string;
      reason: string;
    };
    reconcile_state: {
      only_row: Generated<boolean>;
      rounds: number;
      restored_at: Date | null;
    };
  }
}
