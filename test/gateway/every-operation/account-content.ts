import pg from 'pg';

/**
 * Refusals are audited, a use of a limit is counted, and a key's last use
 * noted; nothing else may change.
 */
const CHANGE_WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  'audit_entry',
  'audit_head',
  'idempotency_key',
  'api_key',
  'rate_window',
]);

export interface AccountContent {
  /** A hash of what the database holds of an account, table by table. */
  read(accountId: string): Promise<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * On a connection of its own, whose statement has a name: planning one that
 * reads all tables costs about as much as running it.
 *
 * @param databaseUrl a superuser's, for whom row-level security hides nothing
 */
export async function openAccountContent(
  databaseUrl: string,
): Promise<AccountContent> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const hashes = (await tablesOfAccounts(client)).map(
    (
      name,
    ) => `select '${name}' as name, coalesce(sum(hashtextextended(t::text, 0)), 0)::text as hash
      from ${client.escapeIdentifier(name)} t where account_id = $1::uuid`,
  );
  return {
    async read(accountId) {
      const { rows } = await client.query<{ name: string; hash: string }>({
        name: 'content',
        text: hashes.join(' union all '),
        values: [accountId],
      });
      return Object.fromEntries(rows.map(({ name, hash }) => [name, hash]));
    },
    close: () => client.end(),
  };
}

async function tablesOfAccounts(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attname = 'account_id'
    order by name`);
  return rows
    .map(({ name }) => name)
    .filter((name) => !CHANGE_WITHOUT_EFFECT.has(name));
}
