import type { Generated } from 'kysely';
import type { Instant } from '../database/columns.ts';

export interface AuditTables {
  audit_entry: AuditEntryTable;
  audit_head: AuditHeadTable;
}

interface AuditEntryTable {
  id: Generated<number>;
  account_id: string;
  at: Instant;
  actor: string;
  operation: string;
  patient_id: string | null;
  target_id: string | null;
  outcome: string;
  remote_address: string | null;
  /** More than 1: so many refusals of one kind, since then. */
  times: Generated<number>;
  since: Date | null;
  /** JSON as text. */
  details: string | null;
  /** From 1 without gaps in each account; null until the row is sealed. */
  position: number | null;
  mac: Buffer | null;
}

interface AuditHeadTable {
  account_id: string;
  position: number;
  mac: Buffer;
  sealed_at: Instant;
}
