import type { AuditTables } from '../audit/tables.ts';
import type { ErasureTables } from '../erasure/tables.ts';
import type { IdempotencyTables } from '../http/tables.ts';
import type { LimitTables } from '../limits/tables.ts';
import type { WebhookTables } from '../outbox/tables.ts';
import type { ActivityStartTables, ReconcileStateTables } from '../recovery/tables.ts';

/**
 * The types of all tables in `migrations/`, for Kysely. Declared here are the platform's own; each feature adds its tables to
 * this interface in its `tables.ts`.
 */
export interface Database
  extends ErasureTables,
    ActivityStartTables,
    AuditTables,
    IdempotencyTables,
    LimitTables,
    ReconcileStateTables,
    WebhookTables {}
