import { sql } from 'kysely';
import type { SystemTx } from '../database/database.ts';

/**
 * Every column that refers to a blob, as an SQL expression of the reference.
 * Blobs that none of them refers to are deleted a day after they were written;
 * a test compares this list with the schema. Each has an index.
 */
export const BLOB_NAMING_COLUMNS: readonly (readonly [
  table: string,
  ref: string,
])[] = [
  ['document', 'blob_ref'],
  ['document_rendition', 'blob_ref'],
  ['bulk_request', "upload->>'ref'"],
  ['bulk_request', "result->>'ref'"],
  ['bulk_chunk', "result->>'ref'"],
  ['consolidated_query', "result->>'ref'"],
  ['bulk_export_part', "content->>'ref'"],
  ['inbound_message', "content->>'ref'"],
  ['erasure', 'ref'],
];

/** Returns those of the references that no row of any account contains. */
export async function findUnnamedBlobs(
  tx: SystemTx,
  refs: readonly string[],
): Promise<string[]> {
  const named = BLOB_NAMING_COLUMNS.map(
    ([table, ref]) =>
      sql`exists (select from ${sql.table(table)} named where ${sql.raw(`named.${ref}`)} = blob.ref)`,
  );
  const { rows } = await sql<{ ref: string }>`
    select blob.ref from unnest(${[...refs]}::text[]) as blob (ref) where not (${sql.join(named, sql` or `)})
  `.execute(tx.db);
  return rows.map(({ ref }) => ref);
}
