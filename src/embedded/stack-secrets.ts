import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { generateApiKey } from '../exchange/accounts/rules/api-key.ts';
import { generateWebhookKey } from '../exchange/platform/outbox/webhook-key.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';

/** How each secret is made. A secret added later is made at the next start. */
const GENERATORS = {
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
} as const satisfies Record<string, () => string>;

export type StackSecrets = Readonly<Record<keyof typeof GENERATORS, string>>;

/** Another version may have named further secrets, which are kept for it. */
const storedSchema = z.record(z.string(), z.string());

/**
 * The stack's keys, made once for each data folder. Whoever loses the file loses what is encrypted with it, so it
 * lives and is copied with the data.
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
