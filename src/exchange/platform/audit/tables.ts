import type { Generated } from 'kysely';

declare module '../database/schema.ts' {
  interface Database {
    audit_entry: {
      id: Generated<number>;
      account_id: string;
      at: Instant;
      actor: string;
      operation: string;
      patient_id: string | null;
      target_id: string | null;
      outcome: string;
      remote_address: string | null;
      /**
       * Number of refusals that the entry summarises, the first at `since`; 1
       * for an ordinary entry.
       */
      times: Generated<number>;
      since: Date | null;
      /** JSON as text. */
      details: string | null;
      /**
       * Starts at 1 in each account and has no gaps; null until the entry is
       * sealed.
       */
      position: number | null;
      mac: Buffer | null;
    };
    audit_head: {
      account_id: string;
      position: number;
      mac: Buffer;
      sealed_at: Instant;
    };
  }
}
