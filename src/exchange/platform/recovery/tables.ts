import type { Generated } from 'kysely';
import type { Instant } from '../database/columns.ts';

export interface ReconcileStateTables {
  reconcile_state: {
    only_row: Generated<boolean>;
    rounds: number;
    restored_at: Date | null;
  };
}

export interface ActivityStartTables {
  activity_start: {
    account_id: string;
    work: string;
    progress: string;
    starts: Generated<number>;
    started_at: Instant;
  };
}
