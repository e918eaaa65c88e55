import type { ColumnType } from 'kysely';

declare module '../database/schema.ts' {
  interface Database {
    idempotency_key: {
      account_id: string;
      key_hash: Buffer;
      request_hash: Buffer;
      status: number | null;
      /** `{sealed}`: the encrypted response (`ResponseSeal`). */
      answer: ColumnType<unknown, string | null | undefined, string | null>;
      /** Patient of the response. */
      patient_id: string | null;
      created_at: Instant;
    };
  }
}
