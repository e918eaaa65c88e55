import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { isTimeZone } from './lib/time-zone.ts';

/**
 * The only reader of the environment. Each variable is declared once, here; each process names those it needs:
 *
 *   const config = readConfig(['DATABASE_URL', 'DATA_KEYS']);
 *
 * Any variable may come from a file instead: `DATABASE_URL_FILE=/run/secrets/database-url`.
 */
const port = z.coerce.number().int().min(0).max(65_535);
const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const httpUrl = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));
const origins = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .pipe(z.array(httpUrl.transform((url) => new URL(url).origin)));
const secret = z.string().min(16, { error: 'at least 16 characters' });

const timeZone = z.string().refine(isTimeZone, { error: 'is not the name of a time zone' });
const sender = z
  .string()
  .regex(/^[\w.-]+=[^@\s]+(@\S+)?$/, { error: 'each is of the form name=secret or name=secret@zone' })
  .transform((text) => {
    const [, name = '', key = '', zone = 'UTC'] = /^([^=]+)=([^@]+)(?:@(.+))?$/.exec(text) ?? [];
    return { name, secret: key, timeZone: zone };
  })
  .pipe(z.object({ name: z.string(), secret, timeZone }));
const PROXY_RANGES = ['loopback', 'linklocal', 'uniquelocal'];
const proxies = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .refine((all) => all.every(isProxy), {
    error: `each is an address, a range as in 10.0.0.0/8, or one of: ${PROXY_RANGES.join(', ')}`,
  });

function isProxy(text: string): boolean {
  if (PROXY_RANGES.includes(text)) return true;
  const [, address = '', bits] = /^([\da-f:.]+?)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  return isIP(address) !== 0 && Number(bits ?? 0) <= (isIP(address) === 4 ? 32 : 128);
}

const secrets = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .pipe(z.array(secret).min(1));
const senders = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .pipe(z.array(sender));

const sourceVariables = <const P extends 'HIE' | 'PHARMACY' | 'LAB'>(prefix: P, name: string) =>
  ({
    [`${prefix}_BASE_URL`]: httpUrl.describe(`FHIR R4 base address of the ${name} source`),
    [`${prefix}_BEARER_TOKEN`]: z.string().optional().describe(`Bearer token of the ${name} source`),
    [`${prefix}_TOKEN_URL`]: httpUrl.optional().describe('OAuth 2 client credentials: token address'),
    [`${prefix}_CLIENT_ID`]: z.string().optional().describe('OAuth 2 client credentials: client id'),
    [`${prefix}_CLIENT_SECRET`]: z.string().optional().describe('OAuth 2 client credentials: client secret'),
    [`${prefix}_CALLBACK_SECRET`]: z
      .string()
      .optional()
      .describe(
        `Key that the ${name} source signs its callbacks with (Standard Webhooks); none: we only poll`,
      ),
    [`${prefix}_ALLOWED_ORIGINS`]: z
      .string()
      .optional()
      .describe(`Further origins that links of the ${name} source may lead to, separated by blanks`),
    [`${prefix}_TOKEN_ORIGINS`]: z
      .string()
      .optional()
      .describe(`Further origins that get the ${name} source's token too, separated by blanks`),
    [`${prefix}_RATE_PER_SECOND`]: z.coerce
      .number()
      .positive()
      .default(50)
      .describe(`Calls per second that the ${name} source allows, for all workers together`),
  }) as {
    [K in
      | `${P}_BASE_URL`
      | `${P}_BEARER_TOKEN`
      | `${P}_TOKEN_URL`
      | `${P}_CLIENT_ID`
      | `${P}_CLIENT_SECRET`
      | `${P}_CALLBACK_SECRET`
      | `${P}_ALLOWED_ORIGINS`
      | `${P}_TOKEN_ORIGINS`
      | `${P}_RATE_PER_SECOND`]: K extends `${P}_BASE_URL`
      ? typeof httpUrl
      : K extends `${P}_TOKEN_URL`
        ? z.ZodOptional<typeof httpUrl>
        : K extends `${P}_RATE_PER_SECOND`
          ? z.ZodDefault<z.ZodCoercedNumber>
          : z.ZodOptional<z.ZodString>;
  };

export const VARIABLES = {
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Log level'),
  DATA_DIR: z.string().default('.data').describe('Embedded stack: folder of all its data'),
  POSTGRES_PORT: port.default(0).describe('Embedded stack: port of PostgreSQL; 0 takes a free one'),
  TEMPORAL_PORT: port.default(0).describe('Embedded stack: port of the Temporal server; 0 takes a free one'),
  TEMPORAL_UI_PORT: port.default(0).describe('Embedded stack: port of the Temporal UI; 0 takes a free one'),

  DATABASE_URL: z
    .string()
    .min(1)
    .describe('PostgreSQL; the role must own the schema or be able to create it'),
  DATABASE_POOL_MAX: z.coerce.number().int().min(2).default(20).describe('Connections per process'),
  BLOB_STORE: z.url().describe('Where blobs live: file:///a/folder'),

  TEMPORAL_ADDRESS: z.string().min(1).describe('host:port of the Temporal frontend'),
  TEMPORAL_NAMESPACE: z.string().default('default').describe('Temporal namespace'),
  TEMPORAL_API_KEY: z.string().optional().describe('API key of the Temporal cluster; turns TLS on'),
  TEMPORAL_TLS: flag.default(false).describe('TLS to the Temporal cluster'),
  TEMPORAL_UI_URL: httpUrl.optional().describe('Address of the Temporal UI, for links'),

  DATA_KEYS: z
    .string()
    .min(1)
    .describe(
      'Key ring for Temporal payloads and blobs: "id:base64 of 32 bytes", the first one encrypts; separated by blanks',
    ),
  ID_HMAC_KEY: secret.describe('Derives opaque ids and matching keys from what callers send; never changes'),
  LINK_SIGNING_KEY: secret.describe('Signs expiring links and source callback tokens'),
  INTERNAL_TOKEN_KEY: secret.describe(
    'Signs the short-lived tokens by which our orchestrator calls our exchange',
  ),

  AUDIT_KEY: secrets.describe(
    'Chains the audit, by workers only; several, separated by blanks: the first seals, all verify',
  ),
  AUDIT_HEADS: z
    .url()
    .optional()
    .describe('Where the signed ends of the audit chains are kept: file:///a/folder; none: in the log only'),

  GATEWAY_HOST: z.string().default('127.0.0.1').describe('Address the gateway listens on'),
  GATEWAY_PORT: port.default(0).describe('Port of the gateway; 0 takes a free one'),
  TRUSTED_PROXIES: proxies
    .default([])
    .describe(
      'Proxies in front of the gateway, whose X-Forwarded-For is believed: addresses or ranges, separated by blanks',
    ),
  ACCOUNT_CONNECTIONS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .default(8)
    .describe(
      'Connections to PostgreSQL that one account may use at a time in each gateway, at most half of them; its further requests wait',
    ),
  ACCOUNT_REQUESTS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .default(200)
    .describe('Requests that one account may have under way in each gateway; above: 503 with Retry-After'),
  PUBLIC_BASE_URL: httpUrl.describe('Address at which callers and sources reach the gateway'),
  ALLOW_LOOPBACK_WEBHOOKS: flag
    .default(false)
    .describe('Embedded stack only: webhooks may go to http on this machine'),
  WEBHOOK_TRUSTED_ORIGINS: origins
    .default([])
    .describe(
      'Origins, separated by blanks, to which webhooks may go although they are private or plain http: our own receiver’s',
    ),
  NOTIFICATION_SENDERS: senders
    .default([])
    .describe(
      'Who may send notifications (ADT, fills, results): "name=secret", with "@America/New_York" behind it where the sender’s times carry no offset and are not UTC; separated by blanks',
    ),
  IDENTITY_PARTNER_BASE_URL: httpUrl
    .optional()
    .describe('Who verifies people for individual access; none: nobody is verified'),
  IDENTITY_PARTNER_SECRET: z
    .string()
    .optional()
    .describe('Key that the identity partner and we sign with (Standard Webhooks)'),
  MESSAGE_PARTNER_BASE_URL: httpUrl
    .optional()
    .describe('Who carries messages by XDR and Direct; none: no messages are sent'),
  MESSAGE_PARTNER_SECRET: z
    .string()
    .optional()
    .describe('Key that the transport partner of messages and we sign with (Standard Webhooks)'),
  RECONCILE_INTERVAL_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .default(60)
    .describe('How often left-over work is looked for'),

  ...sourceVariables('HIE', 'hie'),
  ...sourceVariables('PHARMACY', 'pharmacy'),
  ...sourceVariables('LAB', 'lab'),

  EXCHANGE_BASE_URL: httpUrl.describe(
    'Orchestrator: address of the exchange, ours or another that serves the interface',
  ),
  EXCHANGE_API_KEY: z.string().optional().describe('Orchestrator: x-api-key for a foreign exchange'),
  EXCHANGE_ACCOUNT_ID: z
    .uuid()
    .optional()
    .describe('Orchestrator: the account at our own exchange to act for'),
  EXCHANGE_IDEMPOTENCY: flag
    .default(true)
    .describe('Orchestrator: whether the exchange honours Idempotency-Key'),
  ORCHESTRATOR_FILES: z
    .url()
    .describe('Orchestrator: files of bulk onboardings, for its workers and the starter: file:///a/folder'),

  API_KEY: z
    .string()
    .optional()
    .describe('Starters: x-api-key for the exchange of --base-url; the embedded stack has its own'),

  RECEIVER_HOST: z.string().default('127.0.0.1').describe('Address the webhook receiver listens on'),
  RECEIVER_PORT: port.default(0).describe('Port of the webhook receiver; 0 takes a free one'),
  RECEIVER_LOG: z.string().optional().describe('File in which the receiver notes each webhook (ids only)'),
  WEBHOOK_KEY: z
    .string()
    .optional()
    .describe('Key that incoming webhooks are signed with (webhookKey of the settings)'),
  INTAKE_KEY: z.string().optional().describe('Key that intake webhooks (an EHR, a form) are signed with'),

  SEED_API_KEY: z.string().describe('Seeding: API key of the first account, as `npm run secrets` makes one'),
  SEED_WEBHOOK_URL: httpUrl.optional().describe('Seeding: where webhooks of the first account go'),

  CODEC_HOST: z.string().default('127.0.0.1').describe('Address the codec server listens on'),
  CODEC_PORT: port.default(0).describe('Port of the codec server; 0 takes a free one'),
  CODEC_ALLOWED_ORIGIN: z
    .string()
    .optional()
    .describe('Origin of the Temporal UI that may ask the codec server'),
  CODEC_PATH_SECRET: secret.optional().describe('Unguessable path of the codec server'),

  WORKER_QUEUES: z
    .string()
    .default('all')
    .describe('Task queues that this worker process serves, separated by blanks, or "all"'),
  WORKER_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address of the worker’s /health, /ready and /metrics'),
  WORKER_PORT: port
    .default(0)
    .describe('Port of the worker’s /health, /ready and /metrics; 0 takes a free one'),
  WORKER_TEMPORAL_METRICS: z
    .string()
    .regex(/^\S+:\d{1,5}$/, { error: 'is not host:port' })
    .optional()
    .describe('host:port at which a worker serves the metrics of the Temporal SDK itself; none: not served'),

  SIMULATOR_HOST: z.string().default('127.0.0.1').describe('Address the simulator listens on'),
  SIMULATOR_PORT: port.default(0).describe('Port of the simulator; 0 takes a free one'),
  SIMULATOR_ADMIN_TOKEN: secret
    .optional()
    .describe('Bearer token of the simulator’s /admin; none: one is made and printed at the start'),
  SIMULATOR_LOG: z.string().optional().describe('File in which the simulator notes each request'),
  SIMULATOR_DATA: z.string().optional().describe('Folder in which the simulator keeps its jobs'),
  SIMULATOR_NOTIFY_URL: httpUrl
    .optional()
    .describe('Exchange that the simulator tells of its people, as the first of NOTIFICATION_SENDERS'),
} as const satisfies Record<string, z.ZodType>;

const SOURCE_SETTINGS = [
  'BASE_URL',
  'BEARER_TOKEN',
  'TOKEN_URL',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'CALLBACK_SECRET',
  'ALLOWED_ORIGINS',
  'TOKEN_ORIGINS',
  'RATE_PER_SECOND',
] as const;

/** Every variable of one source. */
export const sourceVariableNames = <const P extends 'HIE' | 'PHARMACY' | 'LAB'>(prefix: P) =>
  SOURCE_SETTINGS.map((setting) => `${prefix}_${setting}` as const);

export type VariableName = keyof typeof VARIABLES;
export type Config<N extends VariableName> = { [K in N]: z.output<(typeof VARIABLES)[K]> };

/** Thrown when the environment is not as it must be; its message lists every variable to mend, never a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads and checks the named variables. Throws ConfigError with one line per variable that is missing or wrong. */
export function readConfig<const N extends VariableName>(
  names: readonly N[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Config<N> {
  const problems: string[] = [];
  const entries = names.map((name) => {
    const value = rawValue(name, env);
    const parsed = VARIABLES[name].safeParse(value);
    if (parsed.success) return [name, parsed.data];
    const problem = value === undefined ? 'is missing' : describe(parsed.error);
    problems.push(`${name}: ${problem} (${VARIABLES[name].description ?? ''})`);
    return [name, undefined];
  });
  if (problems.length > 0)
    throw new ConfigError(`The configuration is not complete:\n  ${problems.join('\n  ')}`);
  return Object.fromEntries(entries) as Config<N>;
}

/** Checks those of the named variables that are set and gives them as they stand, to be handed to a child process. */
export function givenVariables<const N extends VariableName>(
  names: readonly N[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Partial<Record<N, string>> {
  const given = names.filter((name) => rawValue(name, env) !== undefined);
  readConfig(given, env);
  return Object.fromEntries(given.map((name) => [name, rawValue(name, env)])) as Partial<Record<N, string>>;
}

function rawValue(name: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const file = env[`${name}_FILE`];
  const value = file === undefined || file === '' ? env[name] : readFileSync(file, 'utf8').trim();
  return value === '' ? undefined : value;
}

const describe = (error: z.ZodError): string => error.issues.map(({ message }) => message).join('; ');

const SYSTEM_VARIABLES = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'],
];

/** The operating system's variables, which a child process gets next to those that it is given on purpose. */
export const systemEnvironment = (
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> =>
  Object.fromEntries(
    SYSTEM_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
