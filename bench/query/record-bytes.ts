import pg from 'pg';
import type { Environment } from './environment.ts';

/** What a record consists of: as delivered, and as merged. */
const TABLES = [
  'document',
  'document_conversion',
  'origin_pack',
  'patient_at_source',
  'patient_resource',
  'retired_resource',
  'record_key',
  'record_origin',
  'record_resource',
  'record_split',
  'record_to_pack',
  'resource_pack',
];
const PARTS = 256;

export interface RecordBytes {
  /** What the sources have delivered, in pages and documents. */
  source: number;
  blobs: number;
  /** Rows and indexes. */
  tables: number;
}

/**
 * The bytes of all records together. The growth of it is that of the records
 * between, whatever the tables took before.
 */
export async function recordBytes({
  databaseUrl,
  exchange,
}: Environment): Promise<RecordBytes> {
  let blobs = 0;
  for (let part = 0; part < PARTS; part++)
    for await (const { sizeBytes } of exchange.blobs.list(
      part.toString(16).padStart(2, '0'),
    ))
      blobs += sizeBytes;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ source: string; tables: string }>(
      `select (select coalesce(sum(size_bytes), 0) from document) as source, sum(pg_total_relation_size(name::regclass)) as tables
       from unnest($1::text[]) as name`,
      [TABLES],
    );
    return {
      source: Number(rows[0]?.source),
      blobs,
      tables: Number(rows[0]?.tables),
    };
  } finally {
    await client.end();
  }
}

/** Moves all records into packs, and gives what that frees to the disk. */
export async function putToRest({ databaseUrl }: Environment): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      'select pack_record(id, 100000), pack_origins(id) from patient',
    );
    await client.query(`vacuum full ${TABLES.join(', ')}`);
  } finally {
    await client.end();
  }
}

export function bytesBetween(
  before: RecordBytes,
  after: RecordBytes,
): RecordBytes {
  return {
    source: after.source - before.source,
    blobs: after.blobs - before.blobs,
    tables: after.tables - before.tables,
  };
}
