import type { ColumnType } from 'kysely';
import type { DocumentFormat } from '../../contract/documents.ts';
import type { RecordSource } from '../../contract/primitives.ts';
import type { Instant } from '../platform/database/columns.ts';

export interface DocumentTables {
  document: DocumentTable;
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

interface DocumentTable {
  id: string;
  account_id: string;
  /** Null for a message that could not be assigned to a patient. */
  patient_id: string | null;
  /** The query that delivered it; null if it came with a message. */
  query_id: string | null;
  message_id: ColumnType<string | null, string | null | undefined, never>;
  source: RecordSource;
  kind: 'page' | 'attachment';
  source_document_id: string | null;
  file_name: string;
  content_type: string;
  size_bytes: number;
  sha256: Buffer;
  blob_ref: string;
  created_at: Instant;
}
