import type { Instant } from '../platform/database/columns.ts';

export interface ErasureTables {
  erasure: ErasureTable;
}

interface ErasureTable {
  kind: 'blob' | 'workflow';
  ref: string;
  account_id: string;
  noted_at: Instant;
}
