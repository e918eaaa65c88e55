import type { StackAccess } from './stack.ts';

/**
 * Columns that get another value in each copy, by table: SQL of the row `t` and
 * the number `n` of the copy.
 */
const COPIED: Record<string, Record<string, string>> = {
  patient: { id: copyOf('t.id') },
  document: {
    id: copyOf('t.id'),
    patient_id: copyOf('t.patient_id'),
    file_name: `n || '-' || t.file_name`,
  },
  resource_pack: { patient_id: copyOf('t.patient_id') },
  patient_at_source: { patient_id: copyOf('t.patient_id') },
  patient_resource: {
    patient_id: copyOf('t.patient_id'),
    document_id: copyOf('t.document_id'),
  },
  document_conversion: {
    patient_id: copyOf('t.patient_id'),
    document_id: copyOf('t.document_id'),
  },
};

/**
 * What the merge made of it; the copies have the ids of the originals'
 * resources.
 */
const MERGED: typeof COPIED = {
  record_origin: { patient_id: copyOf('t.patient_id') },
  origin_pack: { patient_id: copyOf('t.patient_id') },
  record_key: { patient_id: copyOf('t.patient_id') },
  record_resource: { patient_id: copyOf('t.patient_id') },
};

/** A UUID that is the same for the same row, account and number. */
function copyOf(id: string): string {
  return `md5(${id} || '/' || $2 || '/' || n)::uuid`;
}

/**
 * Copies the patients of an account, with everything that was delivered about
 * them, into another account, `times` times. The records of the copies are
 * merged when they are first read, unless they are copied as `isMerged`; their
 * blobs are those of the originals. Numbers from `first` make other copies than
 * an earlier call made.
 */
export async function copyPatients(
  rows: StackAccess['rows'],
  {
    from,
    to,
    times,
    first = 1,
    isMerged = false,
  }: {
    from: string;
    to: string;
    times: number;
    first?: number;
    isMerged?: boolean;
  },
): Promise<void> {
  for (const [table, columns] of Object.entries({
    ...COPIED,
    ...(isMerged && MERGED),
  })) {
    const changed = Object.entries(columns).map(
      ([name, value]) => `'${name}', ${value}`,
    );
    const written = await rows<{ names: string }>(
      `select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns
       where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`,
      [table],
    );
    const names = written[0]?.names;
    await rows(
      `insert into ${table} (${names}) select ${names} from (select copy.* from ${table} t, generate_series($3::int, $4::int) n,
         lateral jsonb_populate_record(t, jsonb_build_object('account_id', $2::text, ${changed.join(', ')})) copy
       where t.account_id = $1) as copies`,
      [from, to, first, first + times - 1],
    );
  }
}
