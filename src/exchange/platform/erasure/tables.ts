import type { Instant } from '../database/schema.ts';

export interface ErasureTables {
  erasure: ErasureTable;
}

interface ErasureTable {
  kind: 'blob' | 'workflow';
  ref: string;
  /** Null for a message about a person who is no patient of any account. */
  account_id: string | null;
  noted_at: Instant;
}

declare module '../database/schema.ts' {
  interface Database extends ErasureTables {}
}
