import type { Generated } from 'kysely';
import type { Instant } from '../platform/database/columns.ts';

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
  /** Last sign of life of its workflow. */
  seen_at: Instant;
  ended_at: Date | null;
}
