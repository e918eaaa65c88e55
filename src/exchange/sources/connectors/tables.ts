import type { Generated } from 'kysely';

declare module '../../platform/database/schema.ts' {
  interface Database {
    source_change_check: {
      connection: string;
      fingerprint: string;
      /** `everything`, a resource type, or `*`. */
      asked: string;
      honoured: boolean;
      checked_at: Generated<Date>;
    };
    source_budget: {
      target: string;
      second_used_until: Generated<Date>;
      minute_used_until: Generated<Date>;
      blocked_until: Generated<Date>;
    };
  }
}
