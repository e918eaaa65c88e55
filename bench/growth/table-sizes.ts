import type pg from 'pg';

export interface TableSize {
  table: string;
  rows: number;
  tableBytesPerPatient: number;
  indexBytesPerPatient: number;
}

/** The tables that take at least ten bytes per patient, greatest first. */
export async function readTableSizes(
  admin: pg.Client,
  patients: number,
): Promise<TableSize[]> {
  const { rows } = await admin.query<TableSize>(
    `select relname as table, reltuples::float8 as rows, pg_table_size(oid)::float8 / $1 as "tableBytesPerPatient",
       pg_indexes_size(oid)::float8 / $1 as "indexBytesPerPatient"
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and pg_total_relation_size(oid) > 10 * $1
     order by pg_total_relation_size(oid) desc`,
    [patients],
  );
  return rows;
}
