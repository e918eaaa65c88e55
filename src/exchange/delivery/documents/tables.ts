import type { DocumentFormat } from '../../../contract/documents.ts';
import type { Instant } from '../../platform/database/schema.ts';

export interface DocumentTables {
  document_rendition: DocumentRenditionTable;
}

interface DocumentRenditionTable {
  id: string;
  account_id: string;
  document_id: string;
  format: DocumentFormat;
  size_bytes: number;
  blob_ref: string;
  created_at: Instant;
}

declare module '../../platform/database/schema.ts' {
  interface Database extends DocumentTables {}
}
