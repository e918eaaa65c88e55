import type { Generated } from 'kysely';

declare module '../../platform/database/schema.ts' {
  interface Database {
    retention_rule: {
      kind: string;
      days: number;
      set_at: Instant;
      /** When nothing was left to remove; null: a sweep is due or has begun. */
      swept_at: Date | null;
      /** Number of items removed since the rule exists. */
      removed: Generated<number>;
    };
  }
}
