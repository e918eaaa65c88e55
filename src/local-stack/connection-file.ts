import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { readConfig } from '../config.ts';
import { generateApiKey } from '../exchange/access/accounts/rules/api-key.ts';
import { generateWebhookKey } from '../exchange/platform/outbox/webhook-key.ts';
import type { TemporalConfig } from '../temporal/client.ts';
import { readJsonFile, writeJsonFile } from './json-file.ts';
import { lockHolder } from './stack-lock.ts';

/**
 * Where a stack keeps its files: addresses as in BLOB_STORE, ORCHESTRATOR_FILES
 * and AUDIT_HEADS. Contains a secret.
 */
const storageSchema = z.object({
  blobs: z.string(),
  orchestratorFiles: z.string(),
  auditHeads: z.string(),
  /** The login of the S3 server, if they are buckets. */
  s3: z
    .object({
      region: z.string(),
      accessKeyId: z.string(),
      secretAccessKey: z.string(),
    })
    .optional(),
});
export type StackStorage = Readonly<z.infer<typeof storageSchema>>;

/** Folders in the data folder. */
export function storageInFolders(dataDir: string): StackStorage {
  const folder = (name: string) => pathToFileURL(join(dataDir, name)).href;
  return {
    blobs: folder('blobs'),
    orchestratorFiles: folder('orchestrator-files'),
    auditHeads: folder('audit-heads'),
  };
}

/** What the AWS SDK of a process reads. */
export const s3Environment = ({
  s3,
}: StackStorage): Readonly<Record<string, string>> =>
  s3 === undefined
    ? {}
    : {
        AWS_REGION: s3.region,
        AWS_ACCESS_KEY_ID: s3.accessKeyId,
        AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
      };

/**
 * How to reach a running stack. It contains secrets (API key, database
 * password), so only its owner may read it.
 */
const connectionSchema = z.object({
  pid: z.number().int().positive(),
  /** Base address of the gateway. */
  baseUrl: z.url(),
  apiKey: z.string(),
  accountId: z.uuid(),
  facilityId: z.uuid(),
  /**
   * The account whose source is the simulator's IHE gateway. Absent in the file
   * of an earlier version.
   */
  gatewayAccount: z
    .object({ apiKey: z.string(), facilityId: z.uuid() })
    .optional(),
  /** The network of which the stack's first account is a member. */
  network: z
    .object({
      /** Where the account answers the network's gateways. */
      address: z.url(),
      /** Folder with the certificate of the simulated gateway. */
      member: z.string(),
    })
    .optional(),
  temporalAddress: z.string(),
  temporalNamespace: z.string(),
  /**
   * Absent for a Temporal outside the stack whose UI address is not configured.
   */
  temporalUiUrl: z.url().optional(),
  /**
   * Opens the stack's Temporal UI in one browser, once; after its use, the next
   * link is stored here.
   */
  temporalUiLink: z.url().optional(),
  databaseUrl: z.string(),
  storage: storageSchema,
  simulatorUrl: z.url(),
  /**
   * Base address of the webhook receiver, which serves `/webhooks` and
   * `/intake`.
   */
  receiverUrl: z.url(),
  /** Bearer token of the simulator's `/admin`. */
  simulatorAdminToken: z.string().optional(),
  /**
   * For the Temporal CLI: the values of TEMPORAL_CODEC_ENDPOINT and
   * TEMPORAL_CODEC_AUTH (`Bearer <codecToken>`).
   */
  codecUrl: z.url().optional(),
  codecToken: z.string().optional(),
});
export type StackConnection = z.infer<typeof connectionSchema>;

/** Thrown when there is no running stack on the data folder. */
export class NoStackError extends Error {
  override readonly name = 'NoStackError';
}

const fileOf = (dataDir: string): string => join(dataDir, 'connection.json');

export const writeConnection = (
  dataDir: string,
  connection: StackConnection,
): Promise<void> => writeJsonFile(fileOf(dataDir), connection);

export const removeConnection = (dataDir: string): Promise<void> =>
  rm(fileOf(dataDir), { force: true });

/**
 * Reads the connection of the running stack. Throws NoStackError when no stack
 * runs on the data folder.
 */
export async function readConnection(
  dataDir: string,
): Promise<StackConnection> {
  const connection = await readJsonFile(fileOf(dataDir), connectionSchema);
  const start = holdsCluster(dataDir) ? 'npm run cluster' : 'npm start';
  if (connection === undefined)
    throw new NoStackError(
      `No stack is running on the data folder ${dataDir}. Start one with "${start}", or pass --data-dir or --base-url.`,
    );
  if ((await lockHolder(dataDir)) !== connection.pid)
    throw new NoStackError(
      `The stack on the data folder ${dataDir} is not running any more. Start it again with: ${start}`,
    );
  return connection;
}

/** The S3 server's folder in the data folder of `npm run cluster`. */
export const S3_FOLDER = 'seaweedfs';

/**
 * Whether a data folder is one of `npm run cluster`: blobs and workflows are
 * then not where `npm start` keeps them.
 */
export const holdsCluster = (dataDir: string): boolean =>
  existsSync(join(dataDir, S3_FOLDER));

/**
 * How each secret is generated. A secret that is added later is generated at
 * the next start.
 */
const GENERATORS = {
  serviceDatabasePassword: token,
  dataKeys: () => `k1:${randomBytes(32).toString('base64')}`,
  idHmacKey: token,
  linkSigningKey: token,
  internalTokenKey: token,
  auditKey: token,
  codecToken: token,
  apiKey: generateApiKey,
  /** Of the account whose source is an IHE gateway. */
  gatewayApiKey: generateApiKey,
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
  simulatedMailPassword: token,
  simulatorAdminToken: token,
  /** The key of the S3 server of `npm run cluster`. */
  s3SecretKey: token,
} as const satisfies Record<string, () => string>;

export type StackSecrets = Readonly<Record<keyof typeof GENERATORS, string>>;

/** Another version may have stored further secrets; they are kept. */
const storedSchema = z.record(z.string(), z.string());

/**
 * Returns the stack's secrets, which are generated once for each data folder.
 * Without this file the encrypted data is lost, so it is stored, and must be
 * backed up, together with the data.
 */
export async function ensureSecrets(dataDir: string): Promise<StackSecrets> {
  const path = join(dataDir, 'secrets.json');
  const stored = (await readJsonFile(path, storedSchema)) ?? {};
  const entries = Object.entries(GENERATORS).map(([name, generate]) => [
    name,
    stored[name] ?? generate(),
  ]);
  const secrets = Object.fromEntries(entries) as StackSecrets;
  if (entries.some(([name = '']) => stored[name] === undefined))
    await writeJsonFile(path, { ...stored, ...secrets });
  return secrets;
}

function token(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * How to reach the Temporal of the stack on a data folder. A Temporal outside
 * the stack may need credentials, which the stack's files do not contain: they
 * are read from the environment. Throws ConfigError.
 */
export async function temporalOfStack(
  dataDir: string,
  { temporalAddress, temporalNamespace }: StackConnection,
  env?: Readonly<Record<string, string | undefined>>,
): Promise<TemporalConfig> {
  return {
    ...readConfig(
      [
        'TEMPORAL_API_KEY',
        'TEMPORAL_TLS_CA',
        'TEMPORAL_TLS_CERT',
        'TEMPORAL_TLS_KEY',
      ],
      env,
    ),
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: temporalNamespace,
    DATA_KEYS: (await ensureSecrets(dataDir)).dataKeys,
  };
}
