import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { isTimeZone } from './lib/time-zone.ts';

/**
 * The only module that reads the environment. Every variable is declared here; each process names the ones it needs:
 *
 *   const config = readConfig(['DATABASE_URL', 'DATA_KEYS']);
 *
 * Any variable can be read from a file instead: `DATABASE_URL_FILE=/run/secrets/database-url`.
 */
const port = z.coerce.number().int().min(0).max(65_535);
const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const httpUrl = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));
const origins = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .pipe(z.array(httpUrl.transform((url) => new URL(url).origin)));
const secret = z.string().min(16, { error: 'must have at least 16 characters' });

/** The driver reads the modes in between differently from libpq, and some of them accept any certificate. */
const TLS_MODES = ['verify-full', 'disable'];
const databaseUrl = z
  .string()
  .min(1)
  .refine((value) => !/[?&](uselibpqcompat|ssl)=/.test(value) && hasTlsMode(value), {
    error: `sslmode must be ${TLS_MODES.join(' or ')}; other modes, ssl= and uselibpqcompat= are not accepted`,
  });

function hasTlsMode(url: string): boolean {
  const modes = [...url.matchAll(/[?&]sslmode=([^&]*)/g)].map(([, mode = '']) => mode);
  return modes.length === 0 || (modes.length === 1 && TLS_MODES.includes(modes[0] ?? ''));
}

const timeZone = z.string().refine(isTimeZone, { error: 'is not an IANA time zone name' });
const sender = z
  .string()
  .regex(/^[\w.-]+=[^@\s]+(@\S+)?$/, { error: 'each must have the form name=secret or name=secret@zone' })
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
    error: `each must be an address, a range such as 10.0.0.0/8, or one of: ${PROXY_RANGES.join(', ')}`,
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

const mllpSenders = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .pipe(
    z.array(
      z
        .string()
        .regex(/^[\w.-]+=(certificate:[\w.-]+|[^|]+\|[^|]+)$/, {
          error: 'each must have the form name=certificate:name-in-the-certificate or name=MSH-3|MSH-4',
        })
        .transform((text) => {
          const [, sender = '', certificate, application, facility] =
            /^([^=]+)=(?:certificate:(.+)|([^|]+)\|(.+))$/.exec(text) ?? [];
          return certificate === undefined
            ? { sender, application: spaced(application), facility: spaced(facility) }
            : { sender, certificate };
        }),
    ),
  );
/** `+` stands for a space, because spaces separate the senders. */
const spaced = (text = ''): string => text.replaceAll('+', ' ');

/** How a source knows us, as the environment names it. */
const SOURCE_AUTH_KINDS = [
  'none',
  'bearer',
  'client-secret-basic',
  'client-secret-post',
  'smart-backend',
] as const;
type SourceAuthKind = (typeof SOURCE_AUTH_KINDS)[number];

const sourceVariables = <const P extends 'HIE' | 'PHARMACY' | 'LAB'>(prefix: P, name: string) =>
  ({
    [`${prefix}_BASE_URL`]: httpUrl.describe(`FHIR R4 base URL of the ${name} source`),
    [`${prefix}_BEARER_TOKEN`]: z.string().optional().describe(`Bearer token of the ${name} source`),
    [`${prefix}_AUTH`]: z
      .enum(SOURCE_AUTH_KINDS)
      .optional()
      .describe(
        `How the ${name} source knows us: none, bearer, client-secret-basic, client-secret-post or smart-backend; default: what the other variables suggest`,
      ),
    [`${prefix}_TOKEN_URL`]: httpUrl.optional().describe('OAuth 2 client credentials: token endpoint'),
    [`${prefix}_CLIENT_ID`]: z.string().optional().describe('OAuth 2 client credentials: client id'),
    [`${prefix}_CLIENT_SECRET`]: z.string().optional().describe('OAuth 2 client credentials: client secret'),
    [`${prefix}_SCOPE`]: z.string().optional().describe('OAuth 2 client credentials: scope to request'),
    [`${prefix}_TLS_CA`]: z
      .string()
      .optional()
      .describe(
        `Certificates (PEM) of the authorities that the ${name} source is trusted by, instead of public ones`,
      ),
    [`${prefix}_TLS_CERT`]: z
      .string()
      .optional()
      .describe(`Mutual TLS: our certificate (PEM, with its chain) for the ${name} source`),
    [`${prefix}_TLS_KEY`]: z.string().optional().describe('Mutual TLS: the key of our certificate (PEM)'),
    [`${prefix}_TLS_PINS`]: z
      .string()
      .regex(/^\s*(sha256\/[A-Za-z0-9+/]{43}=\s*)*$/, { error: 'each must have the form sha256/<base64>' })
      .optional()
      .describe(
        `Public keys, separated by spaces, of which the certificate of the ${name} source must have one`,
      ),
    [`${prefix}_CALLBACK_SECRET`]: z
      .string()
      .optional()
      .describe(
        `Key with which the ${name} source signs its callbacks (Standard Webhooks); without it, the source is only polled`,
      ),
    [`${prefix}_ALLOWED_ORIGINS`]: z
      .string()
      .optional()
      .describe(`Further origins to which links of the ${name} source may point, separated by spaces`),
    [`${prefix}_TOKEN_ORIGINS`]: z
      .string()
      .optional()
      .describe(`Further origins to which the ${name} source's token is sent, separated by spaces`),
    [`${prefix}_RATE_PER_SECOND`]: z.coerce
      .number()
      .positive()
      .default(50)
      .describe(`HTTP calls per second that the ${name} source allows, for all workers together`),
    [`${prefix}_RATE_PER_MINUTE`]: z.coerce
      .number()
      .positive()
      .optional()
      .describe(
        `HTTP calls per minute that the ${name} source allows, for all workers together; default: no limit`,
      ),
  }) as {
    [K in
      | `${P}_BASE_URL`
      | `${P}_BEARER_TOKEN`
      | `${P}_AUTH`
      | `${P}_TOKEN_URL`
      | `${P}_CLIENT_ID`
      | `${P}_CLIENT_SECRET`
      | `${P}_SCOPE`
      | `${P}_TLS_CA`
      | `${P}_TLS_CERT`
      | `${P}_TLS_KEY`
      | `${P}_TLS_PINS`
      | `${P}_CALLBACK_SECRET`
      | `${P}_ALLOWED_ORIGINS`
      | `${P}_TOKEN_ORIGINS`
      | `${P}_RATE_PER_SECOND`
      | `${P}_RATE_PER_MINUTE`]: K extends `${P}_BASE_URL`
      ? typeof httpUrl
      : K extends `${P}_TOKEN_URL`
        ? z.ZodOptional<typeof httpUrl>
        : K extends `${P}_RATE_PER_SECOND`
          ? z.ZodDefault<z.ZodCoercedNumber>
          : K extends `${P}_RATE_PER_MINUTE`
            ? z.ZodOptional<z.ZodCoercedNumber>
            : K extends `${P}_AUTH`
              ? z.ZodOptional<z.ZodEnum<{ [N in SourceAuthKind]: N }>>
              : z.ZodOptional<z.ZodString>;
  };

const baseUrls = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .pipe(z.array(httpUrl));
const sourceNames = <const P extends 'HIE' | 'PHARMACY' | 'LAB'>(prefix: P, name: string) =>
  ({
    [`${prefix}_OWN_BASE_URLS`]: baseUrls
      .optional()
      .describe(
        `Base URLs, separated by spaces, by which the ${name} source wrongly calls itself in links; replaced by ${prefix}_BASE_URL`,
      ),
  }) as { [K in `${P}_OWN_BASE_URLS`]: z.ZodOptional<typeof baseUrls> };

/** What one response of a source may cost. */
const sourceLimits = <const P extends 'HIE' | 'PHARMACY' | 'LAB'>(prefix: P, name: string) => {
  const count = z.coerce.number().int().min(1);
  return {
    [`${prefix}_PAGE_SIZE`]: count
      .max(10_000)
      .default(200)
      .describe(`Resources per page that the ${name} source is asked for (_count)`),
    [`${prefix}_PAGE_BYTES_MAX`]: count
      .default(20_000_000)
      .describe(`Largest page of the ${name} source, in bytes; a larger one is asked for in smaller pages`),
    [`${prefix}_DOCUMENT_BYTES_MAX`]: count
      .default(200_000_000)
      .describe(`Largest document (attachment) of the ${name} source, in bytes; larger ones are skipped`),
    [`${prefix}_REQUEST_TIMEOUT_SECONDS`]: count
      .max(600)
      .default(30)
      .describe(`Time for one request to the ${name} source; for documents and files: between their parts`),
  } as {
    [K in
      | `${P}_PAGE_SIZE`
      | `${P}_PAGE_BYTES_MAX`
      | `${P}_DOCUMENT_BYTES_MAX`
      | `${P}_REQUEST_TIMEOUT_SECONDS`]: z.ZodDefault<z.ZodCoercedNumber>;
  };
};

/** Whether queries ask a source only for what has changed. */
const sourceChanges = <const P extends 'HIE' | 'PHARMACY' | 'LAB'>(prefix: P, name: string) =>
  ({
    [`${prefix}_INCREMENTAL`]: flag
      .default(true)
      .describe(
        `Ask the ${name} source only for what has changed, where its server is found to honour it: true or false`,
      ),
    [`${prefix}_FULL_AFTER_DAYS`]: z.coerce
      .number()
      .int()
      .min(1)
      .max(90)
      .default(7)
      .describe(`Ask the ${name} source for everything at least this often, in days`),
  }) as { [K in `${P}_INCREMENTAL`]: z.ZodDefault<typeof flag> } & {
    [K in `${P}_FULL_AFTER_DAYS`]: z.ZodDefault<z.ZodCoercedNumber>;
  };

export const VARIABLES = {
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Log level'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      'URL of an OpenTelemetry collector (OTLP over HTTP, without /v1/traces); without it, no traces',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .optional()
    .describe('Headers for the collector, such as its API key: name=value,name=value'),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .describe('Which traces are recorded; the samplers of OpenTelemetry by name'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Share of the traces that are recorded, for samplers with a ratio'),
  OTEL_RESOURCE_ATTRIBUTES: z
    .string()
    .optional()
    .describe('Attributes of all spans, such as deployment.environment.name=production'),
  DATA_DIR: z.string().default('.data').describe('Embedded stack: folder for all its data'),
  POSTGRES_PORT: port.default(0).describe('Embedded stack: port of PostgreSQL; 0 for any free port'),
  TEMPORAL_PORT: port.default(0).describe('Embedded stack: port of the Temporal server; 0 for any free port'),
  TEMPORAL_UI_PORT: port.default(0).describe('Embedded stack: port of the Temporal UI; 0 for any free port'),

  DATABASE_URL: databaseUrl.describe(
    'PostgreSQL connection URL; append ?sslmode=verify-full&sslrootcert=/path/to/ca.crt for TLS. The login of `migrate` must own the schema or be able to create it',
  ),
  DATABASE_POOL_MAX: z.coerce
    .number()
    .int()
    .min(2)
    .default(20)
    .describe('Maximum number of PostgreSQL connections per process'),
  BLOB_STORE: z.url().describe('Storage for blobs: file:///a/folder or s3://bucket/prefix'),

  TEMPORAL_ADDRESS: z.string().min(1).describe('host:port of the Temporal frontend'),
  TEMPORAL_NAMESPACE: z.string().default('default').describe('Temporal namespace'),
  TEMPORAL_API_KEY: z.string().optional().describe('API key of the Temporal cluster; enables TLS'),
  TEMPORAL_TLS_CA: z
    .string()
    .optional()
    .describe('PEM of the authorities to trust for the Temporal cluster instead of public ones; enables TLS'),
  TEMPORAL_TLS_CERT: z
    .string()
    .optional()
    .describe('PEM of our client certificate for the Temporal cluster (mutual TLS); enables TLS'),
  TEMPORAL_TLS_KEY: z.string().optional().describe('PEM of the key of TEMPORAL_TLS_CERT'),
  TEMPORAL_TLS: flag.default(false).describe('Whether to connect to the Temporal cluster with TLS'),
  TEMPORAL_UI_URL: httpUrl.optional().describe('URL of the Temporal UI, for links'),

  DATA_KEYS: z
    .string()
    .min(1)
    .describe(
      'Key ring for Temporal payloads and blobs: "id:base64 of 32 bytes", separated by spaces; the first key encrypts',
    ),
  ID_HMAC_KEY: secret.describe(
    'Key from which opaque ids and patient matching keys are derived; must never change',
  ),
  LINK_SIGNING_KEY: secret.describe('Signs expiring links and source callback tokens'),
  INTERNAL_TOKEN_KEY: secret.describe(
    'Signs the short-lived tokens with which our orchestrator calls our exchange',
  ),

  AUDIT_KEY: secrets.describe(
    'Seals the audit chain; for workers and `npm run admin` only. Several keys are separated by spaces: the first seals, all verify',
  ),
  AUDIT_HEADS: z
    .url()
    .optional()
    .describe(
      'Storage for the signed heads of the audit chains: file:///a/folder, or s3://bucket/prefix with object lock; without it, they are only logged',
    ),

  GATEWAY_HOST: z.string().default('127.0.0.1').describe('Address on which the gateway listens'),
  GATEWAY_PORT: port.default(0).describe('Port of the gateway; 0 for any free port'),
  TRUSTED_PROXIES: proxies
    .default([])
    .describe(
      'Proxies in front of the gateway whose X-Forwarded-For is trusted: addresses or ranges, separated by spaces',
    ),
  ACCOUNT_CONNECTIONS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .default(8)
    .describe(
      'Maximum number of PostgreSQL connections that one account may use at a time in each gateway, capped at half of the pool; its further requests wait',
    ),
  ACCOUNT_REQUESTS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .default(200)
    .describe(
      'Maximum number of concurrent requests of one account in each gateway; beyond it, 503 with Retry-After',
    ),
  PUBLIC_BASE_URL: httpUrl.describe('URL at which callers and sources reach the gateway'),
  ALLOW_LOOPBACK_WEBHOOKS: flag
    .default(false)
    .describe('Embedded stack only: allows http webhook destinations on this machine'),
  WEBHOOK_TRUSTED_ORIGINS: origins
    .default([])
    .describe(
      'Origins, separated by spaces, to which webhooks may be sent although they are private or plain http, such as our own receiver',
    ),
  NOTIFICATION_SENDERS: senders
    .default([])
    .describe(
      'Systems that may send notifications (ADT, fills, results): "name=secret", separated by spaces; append "@America/New_York" if the sender’s times have no offset and are not UTC',
    ),
  MLLP_HOST: z.string().default('127.0.0.1').describe('Address on which the gateway listens for MLLP'),
  MLLP_PORT: port
    .optional()
    .describe('Port on which the gateway takes HL7 v2 messages by MLLP; without it, by HTTP only'),
  MLLP_SENDERS: mllpSenders
    .default([])
    .describe(
      'How senders of NOTIFICATION_SENDERS are recognised on the MLLP port: "name=certificate:name in the client certificate" or "name=MSH-3|MSH-4" (+ for a space), separated by spaces',
    ),
  MLLP_TLS_CERT: z
    .string()
    .optional()
    .describe('Our certificate (PEM, with its chain) for the MLLP port; enables TLS'),
  MLLP_TLS_KEY: z.string().optional().describe('The key of MLLP_TLS_CERT (PEM)'),
  MLLP_TLS_CLIENT_CA: z
    .string()
    .optional()
    .describe(
      'Authorities (PEM) of client certificates for the MLLP port; with it, each client must have one',
    ),
  IDENTITY_PARTNER_BASE_URL: httpUrl
    .optional()
    .describe(
      'Base URL of the partner that verifies identities for individual access; without it, identity operations return 503',
    ),
  IDENTITY_PARTNER_SECRET: z
    .string()
    .optional()
    .describe('Key with which the identity partner and the exchange sign (Standard Webhooks)'),
  MESSAGE_PARTNER_BASE_URL: httpUrl
    .optional()
    .describe(
      'Base URL of the partner that transports messages by XDR and Direct; without it, sending returns 503',
    ),
  MESSAGE_PARTNER_SECRET: z
    .string()
    .optional()
    .describe('Key with which the transport partner and the exchange sign (Standard Webhooks)'),
  RECONCILE_INTERVAL_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .default(60)
    .describe('Interval at which unfinished work is taken up'),

  ...sourceVariables('HIE', 'hie'),
  ...sourceLimits('HIE', 'hie'),
  ...sourceNames('HIE', 'hie'),
  ...sourceChanges('HIE', 'hie'),
  ...sourceVariables('PHARMACY', 'pharmacy'),
  ...sourceLimits('PHARMACY', 'pharmacy'),
  ...sourceNames('PHARMACY', 'pharmacy'),
  ...sourceChanges('PHARMACY', 'pharmacy'),
  ...sourceVariables('LAB', 'lab'),
  ...sourceLimits('LAB', 'lab'),
  ...sourceNames('LAB', 'lab'),
  ...sourceChanges('LAB', 'lab'),

  EXCHANGE_BASE_URL: httpUrl.describe(
    'Orchestrator: URL of the exchange, ours or another service with the same interface',
  ),
  EXCHANGE_API_KEY: z.string().optional().describe('Orchestrator: API key for another service'),
  EXCHANGE_ACCOUNT_ID: z.uuid().optional().describe('Orchestrator: account of our own exchange to act for'),
  EXCHANGE_IDEMPOTENCY: flag
    .default(true)
    .describe('Orchestrator: whether the exchange honours Idempotency-Key'),
  ORCHESTRATOR_FILES: z
    .url()
    .describe(
      'Storage for files of bulk onboardings, shared by orchestrator workers and starter: file:///a/folder or s3://bucket/prefix',
    ),

  API_KEY: z
    .string()
    .optional()
    .describe('Starter: API key for the exchange at --base-url; not needed for the embedded stack'),

  RECEIVER_HOST: z.string().default('127.0.0.1').describe('Address on which the webhook receiver listens'),
  RECEIVER_PORT: port.default(0).describe('Port of the webhook receiver; 0 for any free port'),
  RECEIVER_LOG: z.string().optional().describe('File in which the receiver logs each webhook (ids only)'),
  WEBHOOK_KEY: z
    .string()
    .optional()
    .describe('Key with which incoming webhooks are signed (webhookKey of the settings)'),
  INTAKE_KEY: z.string().optional().describe('Key with which intake webhooks (an EHR, a form) are signed'),

  SEED_API_KEY: z
    .string()
    .describe('Seeding: API key of the demo account, as generated by `npm run secrets`'),
  SEED_WEBHOOK_URL: httpUrl.optional().describe('Seeding: webhook destination of the demo account'),

  CODEC_HOST: z.string().default('127.0.0.1').describe('Address on which the codec server listens'),
  CODEC_PORT: port.default(0).describe('Port of the codec server; 0 for any free port'),
  CODEC_ALLOWED_ORIGIN: z
    .string()
    .optional()
    .describe('Origins of the Temporal UI that may call the codec server'),
  CODEC_PATH_SECRET: secret.optional().describe('Secret first segment of the codec server’s path'),

  WORKER_QUEUES: z
    .string()
    .default('all')
    .describe('Task queues that this worker process polls, separated by spaces, or "all"'),
  WORKER_VERSIONING: z
    .enum(['off', 'on', 'alone'])
    .default('off')
    .describe(
      'Worker Versioning: off; on, for builds side by side; alone, for workers that are all replaced together',
    ),
  BUILD_ID: z
    .string()
    .regex(/^[\w.-]{1,64}$/, { error: 'may have 64 letters, digits, dots, dashes and underscores' })
    .optional()
    .describe('Names the build of a versioned worker; default: a hash of the sources'),
  WORKER_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address on which the worker serves /health, /ready and /metrics'),
  WORKER_PORT: port
    .default(0)
    .describe('Port of the worker’s /health, /ready and /metrics; 0 for any free port'),
  WORKER_TEMPORAL_METRICS: z
    .string()
    .regex(/^\S+:\d{1,5}$/, { error: 'must have the form host:port' })
    .optional()
    .describe('host:port on which a worker serves the metrics of the Temporal SDK; without it, not served'),

  SIMULATOR_HOST: z.string().default('127.0.0.1').describe('Address on which the simulator listens'),
  SIMULATOR_PORT: port.default(0).describe('Port of the simulator; 0 for any free port'),
  SIMULATOR_ADMIN_TOKEN: secret
    .optional()
    .describe(
      'Bearer token of the simulator’s /admin; without it, one is generated and printed at the start',
    ),
  SIMULATOR_LOG: z.string().optional().describe('File in which the simulator logs each request'),
  SIMULATOR_DATA: z.string().optional().describe('Folder in which the simulator stores its jobs'),
  SIMULATOR_NOTIFY_URL: httpUrl
    .optional()
    .describe('Exchange to which the simulator sends notifications, as the first of NOTIFICATION_SENDERS'),
} as const satisfies Record<string, z.ZodType>;

const SOURCE_SETTINGS = [
  'BASE_URL',
  'AUTH',
  'BEARER_TOKEN',
  'TOKEN_URL',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'SCOPE',
  'TLS_CA',
  'TLS_CERT',
  'TLS_KEY',
  'TLS_PINS',
  'CALLBACK_SECRET',
  'ALLOWED_ORIGINS',
  'TOKEN_ORIGINS',
  'RATE_PER_SECOND',
  'RATE_PER_MINUTE',
  'PAGE_SIZE',
  'PAGE_BYTES_MAX',
  'DOCUMENT_BYTES_MAX',
  'REQUEST_TIMEOUT_SECONDS',
  'OWN_BASE_URLS',
  'INCREMENTAL',
  'FULL_AFTER_DAYS',
] as const;

/** The names of all variables of one source. */
export const sourceVariableNames = <const P extends 'HIE' | 'PHARMACY' | 'LAB'>(prefix: P) =>
  SOURCE_SETTINGS.map((setting) => `${prefix}_${setting}` as const);

export type VariableName = keyof typeof VARIABLES;
export type Config<N extends VariableName> = { [K in N]: z.output<(typeof VARIABLES)[K]> };

/** Invalid configuration. The message lists every variable to correct; it never contains a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads and validates the named variables. Throws ConfigError with one line per missing or invalid variable. */
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
    throw new ConfigError(
      `The configuration is not valid; set these environment variables:\n  ${problems.join('\n  ')}`,
    );
  return Object.fromEntries(entries) as Config<N>;
}

/** Validates those of the named variables that are set, and returns their raw values, to be passed to a child process. */
export function givenVariables<const N extends VariableName>(
  names: readonly N[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Partial<Record<N, string>> {
  const given = names.filter((name) => rawValue(name, env) !== undefined);
  readConfig(given, env);
  return Object.fromEntries(given.map((name) => [name, rawValue(name, env)])) as Partial<Record<N, string>>;
}

/**
 * Removes all variables of this module from the environment of this process, once it has read them, so that neither
 * diagnostic reports, threads nor child processes contain secrets.
 */
export function forgetVariables(env: Record<string, string | undefined> = process.env): void {
  for (const name of Object.keys(VARIABLES)) {
    delete env[name];
    delete env[`${name}_FILE`];
  }
}

/** Reads a variable again that comes from a file, because the file may have been replaced; undefined if it comes from none. */
export function readAgain(name: VariableName): string | undefined {
  const file = process.env[`${name}_FILE`];
  if (file === undefined || file === '') return undefined;
  try {
    return rawValue(name, process.env);
  } catch {
    // It is being replaced.
    return undefined;
  }
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

/** The width that a shell states for its terminal, for output whose width is unknown: `COLUMNS`. */
export function columnsOf(
  { COLUMNS = '' }: Readonly<Record<string, string | undefined>> = process.env,
): number | undefined {
  return /^[1-9]\d{0,4}$/.test(COLUMNS) ? Number(COLUMNS) : undefined;
}

/** System variables that every child process gets in addition to the ones passed explicitly. */
export const systemEnvironment = (
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> =>
  Object.fromEntries(
    SYSTEM_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
