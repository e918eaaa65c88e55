import type { Generated } from 'kysely';

declare module '../../platform/database/schema.ts' {
  interface Database {
    source_connection: {
      connection: string;
      failing: Generated<string[]>;
      reason: string | null;
      opened_at: Date | null;
      probes: Generated<number>;
      next_probe_at: Date | null;
      paused_at: Date | null;
      paused_by: string | null;
      pause_reason: string | null;
    };
  }
}
