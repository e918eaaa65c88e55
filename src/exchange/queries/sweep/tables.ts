import type { Generated } from 'kysely';
import type { Instant } from '../../platform/database/schema.ts';

export interface QuerySweepTables {
  bulk_sweep: BulkSweepTable;
}

export type SweepState = 'running' | 'paused' | 'completed' | 'cancelled';

interface BulkSweepTable {
  request_id: string;
  account_id: string;
  state: Generated<SweepState>;
  patients: number;
  started: Generated<number>;
  skipped: Generated<number>;
  failed: Generated<number>;
  /** When its workflow was last known to exist. */
  seen_at: Instant;
  ended_at: Date | null;
}

declare module '../../platform/database/schema.ts' {
  interface Database extends QuerySweepTables {}
}
