import type { Generated } from 'kysely';

export interface SourceHealthTables {
  source_connection: SourceConnectionTable;
}

interface SourceConnectionTable {
  connection: string;
  failing: Generated<string[]>;
  reason: string | null;
  opened_at: Date | null;
  probes: Generated<number>;
  next_probe_at: Date | null;
  paused_at: Date | null;
  paused_by: string | null;
  pause_reason: string | null;
}

declare module '../../platform/database/schema.ts' {
  interface Database extends SourceHealthTables {}
}
