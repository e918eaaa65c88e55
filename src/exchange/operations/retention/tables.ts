import type { Generated } from 'kysely';
import type { Instant } from '../../platform/database/schema.ts';

export interface RetentionTables {
  retention_rule: RetentionRuleTable;
}

interface RetentionRuleTable {
  kind: string;
  days: number;
  set_at: Instant;
  /** When nothing was left to remove; null: a sweep is due or has begun. */
  swept_at: Date | null;
  /** Number of items removed since the rule exists. */
  removed: Generated<number>;
}

declare module '../../platform/database/schema.ts' {
  interface Database extends RetentionTables {}
}
