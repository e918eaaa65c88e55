import type pg from 'pg';

/** What a record consists of, with the patient before all that refers to it. */
const TABLES = [
  'patient',
  'document',
  'document_conversion',
  'patient_at_source',
  'patient_resource',
  'resource_pack',
  'record_key',
  'record_origin',
  'origin_pack',
  'record_resource',
] as const;
const IN_ONE_STATEMENT = 100;

/** How a column of a copy follows from the copied row `t` and the copy `m`. */
function copiedValue(column: string, type: string): string {
  if (column === 'account_id' || type !== 'uuid') return `t.${column}`;
  return copiedId(`t.${column}`);
}

/** The patient's own resource has the id of the patient. */
const copiedId = (id: string): string =>
  `case when ${id} = m.patient then m.id else md5(${id}::text || m.n)::uuid end`;

/** The same of arrays of a composite type. */
const COPIED_ARRAYS = {
  places: `array(select row(o.source, o.resource_type, o.source_id, o.sha256, o.rules, ${copiedId('o.resource_id')}, o.exclusion,
    o.rank, o.leads, o.superseded, o.medication_id, o.sort_date, o.date_from, o.date_to)::origin_place from unnest(t.places) as o)`,
  facts: `array(select row(${copiedId('o.family_id')}, o.keys, o.assertions, o.search)::origin_facts from unnest(t.facts) as o)`,
};

/**
 * Copies a patient with its record, row by row, to patients of other ids, from
 * the number `from + 1` to `to`. All of the copies share the blobs. Foreign
 * keys and triggers are off meanwhile.
 *
 * @returns the id of the last copy
 */
export async function copyRecord(
  admin: pg.Client,
  patientId: string,
  { from, to }: { from: number; to: number },
): Promise<string> {
  const statements: string[] = [];
  for (const table of TABLES)
    statements.push(await copyStatement(admin, table));
  await admin.query(
    'set session_replication_role = replica; set synchronous_commit = off',
  );
  for (let first = from + 1; first <= to; first += IN_ONE_STATEMENT) {
    const last = Math.min(to, first + IN_ONE_STATEMENT - 1);
    await admin.query(`create temporary table made as
      select n, '${patientId}'::uuid as patient, ${copyId('n', patientId)} as id
      from generate_series(${first}, ${last}) as n`);
    for (const statement of statements) await admin.query(statement);
    await admin.query('drop table made');
  }
  await admin.query('reset session_replication_role; reset synchronous_commit');
  const { rows } = await admin.query<{ id: string }>(
    `select ${copyId(String(to), patientId)} as id`,
  );
  return rows[0]?.id ?? '';
}

/** A UUID of version 7, as the product makes them: in the order of time. */
const copyId = (n: string, patientId: string): string =>
  `(lpad(to_hex(1700000000000 + ${n}::bigint * 1000), 12, '0') || '7' || substr(md5('${patientId}' || ${n}), 1, 3)
    || '8' || substr(md5('${patientId}' || ${n}), 4, 15))::uuid`;

async function copyStatement(
  admin: pg.Client,
  table: (typeof TABLES)[number],
): Promise<string> {
  const { rows } = await admin.query<{ column: string; type: string }>(
    `select column_name as column, data_type as type from information_schema.columns
     where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' and is_identity = 'NO'
     order by ordinal_position`,
    [table],
  );
  const own = new Map<string, string>([
    // Unique in the account.
    ['file_name', `m.n || '-' || t.file_name`],
    ['external_id', `m.n || '-' || t.external_id`],
    ...Object.entries(COPIED_ARRAYS),
  ]);
  if (table === 'patient') own.set('id', 'm.id');
  const values = rows.map(
    ({ column, type }) => own.get(column) ?? copiedValue(column, type),
  );
  const key = table === 'patient' ? 'id' : 'patient_id';
  return `insert into ${table} (${rows.map(({ column }) => column).join(', ')})
    select ${values.join(', ')} from ${table} as t cross join made as m where t.${key} = m.patient`;
}
