import type { ColumnType } from 'kysely';
import type { DocumentFormat } from '../../../contract/documents.ts';
import type { RecordSource } from '../../../contract/primitives.ts';
import type { Instant } from '../../platform/database/columns.ts';

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
  /** The query that delivered it; null if it came with a message or a notification. */
  query_id: string | null;
  message_id: ColumnType<string | null, string | null | undefined, never>;
  /** The encounter, fill or result that a notification delivered it with. */
  subject_id: ColumnType<string | null, string | null | undefined, never>;
  /** Files of a subject with the same number were delivered together. */
  delivery: ColumnType<number | null, number | null | undefined, never>;
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

declare module '../../platform/database/schema.ts' {
  interface Database extends DocumentTables {}
}
