import type { Generated } from 'kysely';
import type { ReconcilePart } from '../../../contract/reconcile-workflow.ts';
import type { Instant } from '../database/schema.ts';

export interface ReconcileStateTables {
  reconcile_pause: { part: ReconcilePart; paused_at: Generated<Date>; paused_by: string; reason: string };
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
    processes: Generated<string[]>;
    started_at: Instant;
  };
}

declare module '../database/schema.ts' {
  interface Database extends ActivityStartTables, ReconcileStateTables {}
}
