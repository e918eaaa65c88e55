import type { Generated } from 'kysely';

export type SweepState = 'running' | 'paused' | 'completed' | 'cancelled';

declare module '../../platform/database/schema.ts' {
  interface Database {
    bulk_sweep: {
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
    };
  }
}
