import { sql } from 'kysely';
import type { RecordSource } from '../../../contract/primitives.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { listedDocuments } from '../deliveries/listed-documents.ts';
import type { HeldDocument } from '../rules/attachment-addresses.ts';

/** The ids that DocumentReferences have at their sources. */
export interface SourceDocument {
  source: RecordSource;
  sourceId: string;
}

/** The stored files of these DocumentReferences, those that the list of documents shows; by `heldKey`. */
export async function readHeldDocuments(
  tx: AccountTx,
  patientId: string,
  references: readonly SourceDocument[],
): Promise<Map<string, HeldDocument[]>> {
  const held = new Map<string, HeldDocument[]>();
  if (references.length === 0) return held;
  const ids = [...new Set(references.map(({ sourceId }) => sourceId))];
  const { rows } = await sql<HeldDocument & SourceDocument>`
    select id, source, source_document_id as "sourceId", content_type as "contentType", size_bytes as "sizeBytes",
      encode(sha256, 'hex') as sha256
    from ${listedDocuments(patientId, sql`and d.source_document_id = any(${ids})`)} as d
    order by id`.execute(tx.db);
  for (const row of rows) held.set(heldKey(row), [...(held.get(heldKey(row)) ?? []), row]);
  return held;
}

export const heldKey = ({ source, sourceId }: SourceDocument): string => `${source} ${sourceId}`;
