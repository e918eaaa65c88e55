import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { generateApiKey } from '../exchange/domain/api-key.ts';
import { generateWebhookKey } from '../exchange/webhooks/webhook-key.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';

/** How each secret is made. A secret added later is made at the next start. */
const GENERATORS = {
  dataKeys: () => `k1:${randomBytes(32).toString('base64')}`,
  idHmacKey: token,
  linkSigningKey: token,
  internalTokenKey: token,
  auditKey: token,
  codecPathSecret: token,
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
} as const satisfies Record<string, () => string>;

export type StackSecrets = Readonly<Record<keyof typeof GENERATORS, string>>;

const storedSchema = z.partialRecord(
  z.enum(Object.keys(GENERATORS) as (keyof typeof GENERATORS)[]),
  z.string(),
);

/**
 * The stack's keys, made once for each data folder. Whoever loses the file loses what is encrypted with it, so it
 * lives and is copied with the data.
 */
export async function ensureSecrets(dataDir: string): Promise<StackSecrets> {
  const path = join(dataDir, 'secrets.json');
  const stored = (await readJsonFile(path, storedSchema)) ?? {};
  const entries = Object.entries(GENERATORS).map(([name, generate]) => [
    name,
    stored[name as keyof typeof GENERATORS] ?? generate(),
  ]);
  const secrets = Object.fromEntries(entries) as StackSecrets;
  if (Object.keys(stored).length < entries.length) await writeJsonFile(path, secrets);
  return secrets;
}

function token(): string {
  return randomBytes(32).toString('base64url');
}
