import type { DocumentFormat } from '../../../contract/document.ts';
import type { Instant } from './columns.ts';

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
