import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { readConfig } from '../../config.ts';
import { generateApiKey } from '../../exchange/access/accounts/rules/api-key.ts';
import { generateWebhookKey } from '../../exchange/platform/outbox/webhook-key.ts';
import type { TemporalConfig } from '../../temporal/client.ts';
import type { StackConnection } from './connection-file.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';

/** How each secret is generated. A secret that is added later is generated at the next start. */
const GENERATORS = {
  serviceDatabasePassword: token,
  dataKeys: () => `k1:${randomBytes(32).toString('base64')}`,
  idHmacKey: token,
  linkSigningKey: token,
  internalTokenKey: token,
  auditKey: token,
  codecToken: token,
  apiKey: generateApiKey,
  webhookKey: generateWebhookKey,
  intakeKey: generateWebhookKey,
  hieClientSecret: token,
  hieCallbackSecret: generateWebhookKey,
  pharmacyBearerToken: token,
  pharmacyCallbackSecret: generateWebhookKey,
  labBearerToken: token,
  labCallbackSecret: generateWebhookKey,
  notificationSecret: token,
  identityPartnerSecret: generateWebhookKey,
  messagePartnerSecret: generateWebhookKey,
  simulatorAdminToken: token,
  /** The key of the S3 server of `npm run cluster`. */
  s3SecretKey: token,
} as const satisfies Record<string, () => string>;

export type StackSecrets = Readonly<Record<keyof typeof GENERATORS, string>>;

/** Another version may have stored further secrets; they are kept. */
const storedSchema = z.record(z.string(), z.string());

/**
 * Returns the stack's secrets, which are generated once for each data folder. Without this file the encrypted data is
 * lost, so it is stored, and must be backed up, together with the data.
 */
export async function ensureSecrets(dataDir: string): Promise<StackSecrets> {
  const path = join(dataDir, 'secrets.json');
  const stored = (await readJsonFile(path, storedSchema)) ?? {};
  const entries = Object.entries(GENERATORS).map(([name, generate]) => [name, stored[name] ?? generate()]);
  const secrets = Object.fromEntries(entries) as StackSecrets;
  if (entries.some(([name = '']) => stored[name] === undefined))
    await writeJsonFile(path, { ...stored, ...secrets });
  return secrets;
}

function token(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * How to reach the Temporal of the stack on a data folder. A Temporal outside the stack may need credentials, which the stack's
 * files do not contain: they are read from the environment. Throws ConfigError.
 */
export async function temporalOfStack(
  dataDir: string,
  { temporalAddress, temporalNamespace }: StackConnection,
  env?: Readonly<Record<string, string | undefined>>,
): Promise<TemporalConfig> {
  return {
    ...readConfig(['TEMPORAL_API_KEY', 'TEMPORAL_TLS_CA', 'TEMPORAL_TLS_CERT', 'TEMPORAL_TLS_KEY'], env),
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: temporalNamespace,
    DATA_KEYS: (await ensureSecrets(dataDir)).dataKeys,
  };
}
