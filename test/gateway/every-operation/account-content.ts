import { type Kysely, sql } from 'kysely';
import type { Database } from '../../../src/exchange/platform/database/schema.ts';
import type { World } from './world.ts';

/** Refusals are audited, a use of a limit is counted, and a key's last use noted; nothing else may change. */
const CHANGE_WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'audit_entry',
  'audit_head',
  'idempotency_key',
  'api_key',
  'rate_window',
]);

let tables: Promise<string[]> | undefined;

/** A hash of what the database holds of the world's account, table by table. */
export async function accountContent(world: World): Promise<Record<string, string>> {
  return world.inAccount(async ({ db, accountId }) => {
    tables ??= tablesOfAccounts(db);
    const hashes = (await tables).map(
      (
        name,
      ) => sql`select ${sql.lit(name)} as name, coalesce(sum(hashtextextended(t::text, 0)), 0)::text as hash
        from ${sql.table(name)} t where account_id = ${accountId}::uuid`,
    );
    const { rows } = await sql<{ name: string; hash: string }>`${sql.join(hashes, sql` union all `)}`.execute(
      db,
    );
    return Object.fromEntries(rows.map(({ name, hash }) => [name, hash]));
  });
}

async function tablesOfAccounts(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attname = 'account_id'
      and has_table_privilege(c.oid, 'select')
    order by name`.execute(db);
  return rows.map(({ name }) => name).filter((name) => !CHANGE_WITHOUT_EFFECT.has(name));
}
