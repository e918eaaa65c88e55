import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateApiKey } from './exchange/access/accounts/rules/api-key.ts';
import { generateWebhookKey } from './exchange/platform/outbox/webhook-key.ts';
import { EXIT_USAGE } from './lib/process.ts';

/**
 * `npm run secrets [-- <folder>]`: creates the secret files that
 * docker-compose.yml mounts, and keeps existing ones. Only the owner may open
 * the folder. The files in it are world-readable, because containers read them
 * as other users.
 */
const [folder = 'deploy/secrets', ...further] = process.argv.slice(2);
if (folder.startsWith('-') || further.length > 0) {
  process.stderr.write(
    'npm run secrets -- [folder]    (default: deploy/secrets)\n',
  );
  process.exit(EXIT_USAGE);
}

const token = () => randomBytes(32).toString('base64url');
/** Unused until an operator writes a value into the file. */
const empty = () => '';

/** The logins are those of deploy/postgres/init.sql. */
function databaseUrl(login: string, passwordFile: string) {
  return (earlier: ReadonlyMap<string, string>) =>
    `postgres://${login}:${earlier.get(passwordFile)}@postgres:5432/exchange`;
}

/**
 * Generators by file name, in order; a generator may use the values of earlier
 * files.
 */
const SECRETS: Readonly<
  Record<string, (earlier: ReadonlyMap<string, string>) => string>
> = {
  'postgres-password': token,
  'temporal-db-password': token,
  'exchange-db-password': token,
  'service-db-password': token,
  'admin-db-password': token,
  'owner-database-url': databaseUrl('exchange', 'exchange-db-password'),
  'database-url': databaseUrl('exchange_service', 'service-db-password'),
  'admin-database-url': databaseUrl('exchange_operator', 'admin-db-password'),
  'data-keys': () => `k1:${randomBytes(32).toString('base64')}`,
  'id-hmac-key': token,
  'link-signing-key': token,
  'internal-token-key': token,
  'audit-key': token,
  'codec-path-secret': token,
  'api-key': generateApiKey,
  'webhook-key': generateWebhookKey,
  'intake-key': generateWebhookKey,
  'exchange-api-key': empty,
  'hie-bearer-token': empty,
  'hie-client-secret': token,
  'hie-callback-secret': generateWebhookKey,
  'pharmacy-bearer-token': token,
  'pharmacy-client-secret': empty,
  'pharmacy-callback-secret': generateWebhookKey,
  'lab-bearer-token': token,
  'lab-client-secret': empty,
  'lab-callback-secret': generateWebhookKey,
  'identity-partner-secret': generateWebhookKey,
  // For docker-compose.cloud.yml.
  'temporal-api-key': empty,
  'temporal-tls-ca': empty,
  'temporal-tls-cert': empty,
  'temporal-tls-key': empty,
  'notification-senders': () => `simulator=${token()}`,
};

await mkdir(folder, { recursive: true, mode: 0o700 });
await chmod(folder, 0o700);
const values = new Map<string, string>();
let made = 0;
for (const [name, generate] of Object.entries(SECRETS)) {
  const path = join(folder, name);
  const known = await readFile(path, 'utf8').catch(() => undefined);
  values.set(name, known?.trim() ?? generate(values));
  if (known !== undefined) continue;
  await writeFile(path, `${values.get(name)}\n`, { flag: 'wx' });
  await chmod(path, 0o444);
  made++;
}
process.stdout.write(
  `${folder}: ${made} secrets created, ${values.size - made} already existed.\n`,
);
