import type { ColumnType } from 'kysely';
import type { Instant } from '../database/schema.ts';

export interface IdempotencyTables {
  idempotency_key: IdempotencyKeyTable;
}

interface IdempotencyKeyTable {
  account_id: string;
  key_hash: Buffer;
  request_hash: Buffer;
  status: number | null;
  /** `{sealed}`: the encrypted response (`ResponseSeal`). */
  answer: ColumnType<unknown, string | null | undefined, string | null>;
  /** Patient of the response. */
  patient_id: string | null;
  created_at: Instant;
}

declare module '../database/schema.ts' {
  interface Database extends IdempotencyTables {}
}
