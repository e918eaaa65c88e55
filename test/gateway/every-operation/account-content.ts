import { sql } from 'kysely';
import type { World } from './world.ts';

/** Refusals are audited, a use of a limit is counted, and a key's last use noted; nothing else may change. */
const CHANGE_WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'audit_entry',
  'audit_head',
  'idempotency_key',
  'api_key',
  'rate_window',
]);

/** A hash of what the database holds of the world's account, table by table. */
export async function accountContent(world: World): Promise<Record<string, string>> {
  return world.inAccount(async ({ db, accountId }) => {
    const tables = await sql<{ name: string }>`
      select distinct table_name as name from information_schema.columns c
      where table_schema = 'public' and column_name = 'account_id'
        and has_table_privilege(table_name, 'select')`.execute(db);
    const names = tables.rows.map(({ name }) => name).filter((name) => !CHANGE_WITHOUT_EFFECT.has(name));
    const hashes = names.map(
      (name) => sql`select ${sql.lit(name)} as name,
        md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as hash
        from ${sql.table(name)} t where account_id = ${accountId}::uuid`,
    );
    const { rows } = await sql<{ name: string; hash: string }>`${sql.join(hashes, sql` union all `)}`.execute(
      db,
    );
    return Object.fromEntries(rows.map(({ name, hash }) => [name, hash]));
  });
}
