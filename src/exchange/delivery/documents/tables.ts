import type { DocumentFormat } from '../../../contract/documents.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    document_rendition: {
      id: string;
      account_id: string;
      document_id: string;
      format: DocumentFormat;
      size_bytes: number;
      blob_ref: string;
      created_at: Instant;
    };
  }
}
