import type { Generated } from 'kysely';
import type { Instant } from '../database/columns.ts';

export interface ActivityStartTables {
  activity_start: {
    account_id: string;
    work: string;
    progress: string;
    starts: Generated<number>;
    started_at: Instant;
  };
}
