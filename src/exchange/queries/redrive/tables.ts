import type { Generated } from 'kysely';
import type { SourceType } from '../../../contract/primitives.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    query_redrive: {
      id: string;
      account_id: string;
      actor: string;
      source: SourceType;
      failed_from: Date;
      failed_to: Date;
      reason: string | null;
      state: Generated<'running' | 'completed' | 'cancelled'>;
      queries: number;
      retried: Generated<number>;
      skipped: Generated<number>;
      failed: Generated<number>;
      after_failed_at: Date | null;
      after_query_id: string | null;
      created_at: Instant;
      /**
       * When its workflow was last known to exist; null until it has been
       * started.
       */
      workflow_seen_at: Date | null;
      ended_at: Date | null;
    };
  }
}
