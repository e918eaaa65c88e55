import type { Generated } from 'kysely';

declare module '../../platform/database/schema.ts' {
  interface Database {
    acknowledged_finding: {
      /** Of `OpsFinding`. */
      id: string;
      acknowledged_at: Generated<Date>;
      acknowledged_by: string;
      reason: string;
    };
  }
}
