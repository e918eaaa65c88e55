import pg from 'pg';
import { DEMO_ACCOUNT_ID, type SeededAccount, seedDemoAccount } from '../exchange/accounts/seed.ts';
import { createStore } from '../exchange/platform/database/database.ts';
import type { WebhookKeys } from '../exchange/platform/outbox/webhook-key.ts';
import { findDestination } from '../exchange/webhooks/settings-store.ts';

/** As in deploy/postgres/init.sql. */
const SERVICE_LOGIN = 'exchange_service';

/**
 * Migrates the schema and seeds the demo account. The account's webhooks go to the stack's own receiver, unless another
 * destination has been configured.
 */
export async function prepareDatabase(
  databaseUrl: string,
  seed: { apiKey: string; webhookUrl: string; webhookKey: string; webhookKeys?: WebhookKeys },
): Promise<SeededAccount> {
  const store = createStore({ databaseUrl, poolMax: 2 });
  try {
    await store.migrate();
    const known = await store.asAccount(DEMO_ACCOUNT_ID, findDestination);
    if (known === undefined || isStackReceiver(known.url)) return await seedDemoAccount(store, seed);
    const { webhookUrl: _, ...withoutUrl } = seed;
    return await seedDemoAccount(store, withoutUrl);
  } finally {
    await store.close();
  }
}

/**
 * Creates the login of the stack's gateway and worker, which owns nothing, and returns its address. For the stack's own
 * server only: the logins of an external one are its administrator's.
 */
export async function ensureServiceLogin(databaseUrl: string, password: string): Promise<string> {
  const login = pg.escapeIdentifier(SERVICE_LOGIN);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [SERVICE_LOGIN]);
    if (rowCount === 0) await client.query(`CREATE ROLE ${login} LOGIN NOINHERIT`);
    await client.query(`ALTER ROLE ${login} PASSWORD ${pg.escapeLiteral(password)}`);
    await client.query(`GRANT exchange_app, exchange_system TO ${login}`);
  } finally {
    await client.end();
  }
  return Object.assign(new URL(databaseUrl), { username: SERVICE_LOGIN, password }).href;
}

/** Whether this is the stack's own receiver, possibly on the port of an earlier run. */
const isStackReceiver = (url: string | null): boolean =>
  url !== null && /^http:\/\/127\.0\.0\.1:\d+\/webhooks$/.test(url);
