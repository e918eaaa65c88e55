import { isIP } from 'node:net';
import { z } from 'zod';
import { isTimeZone } from '../lib/time.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const ports = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .transform((words) => words.map(Number))
  .pipe(z.array(z.int().min(1).max(65_535)));
const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const httpUrl = z
  .url({ protocol: /^https?$/ })
  .transform((value) => value.replace(/\/+$/, ''));
const wordsOf = (value: string): string[] => value.split(/\s+/).filter(Boolean);
/** Values separated by spaces. */
const listOf = <T extends z.ZodType<unknown, string>>(item: T) =>
  z.string().transform(wordsOf).pipe(z.array(item));
/** A JSON object. */
const jsonObject = z.string().transform((text, context): object => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value;
  } catch {
    // Said below.
  }
  context.addIssue('must be a JSON object, such as {"pageSize": 50}');
  return z.NEVER;
});
const origins = listOf(httpUrl.transform((url) => new URL(url).origin));
const secret = z
  .string()
  .min(16, { error: 'must have at least 16 characters' });

/**
 * The driver reads the modes in between differently from libpq, and some of
 * them accept any certificate.
 */
const TLS_MODES = ['verify-full', 'disable'];
const databaseUrl = z
  .string()
  .min(1)
  .refine(
    (value) => !/[?&](uselibpqcompat|ssl)=/.test(value) && hasTlsMode(value),
    {
      error: `sslmode must be ${TLS_MODES.join(' or ')}; other modes, ssl= and uselibpqcompat= are not accepted`,
    },
  );

function hasTlsMode(url: string): boolean {
  const modes = [...url.matchAll(/[?&]sslmode=([^&]*)/g)].map(
    ([, mode = '']) => mode,
  );
  return (
    modes.length === 0 ||
    (modes.length === 1 && TLS_MODES.includes(modes[0] ?? ''))
  );
}

const timeZone = z
  .string()
  .refine(isTimeZone, { error: 'is not an IANA time zone name' });
const sender = z
  .string()
  .regex(/^[\w.-]+=[^@\s]+(@\S+)?$/, {
    error: 'each must have the form name=secret or name=secret@zone',
  })
  .transform((text) => {
    const [, name = '', key = '', zone = 'UTC'] =
      /^([^=]+)=([^@]+)(?:@(.+))?$/.exec(text) ?? [];
    return { name, secret: key, timeZone: zone };
  })
  .pipe(z.object({ name: z.string(), secret, timeZone }));
const PROXY_RANGES = ['loopback', 'linklocal', 'uniquelocal'];
const proxies = z
  .string()
  .transform(wordsOf)
  .refine((all) => all.every(isProxy), {
    error: `each must be an address, a range such as 10.0.0.0/8, or one of: ${PROXY_RANGES.join(', ')}`,
  });

function isProxy(text: string): boolean {
  if (PROXY_RANGES.includes(text)) return true;
  const [, address = '', bits] =
    /^([\da-f:.]+?)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  return (
    isIP(address) !== 0 && Number(bits ?? 0) <= (isIP(address) === 4 ? 32 : 128)
  );
}

export const secrets = z
  .string()
  .transform(wordsOf)
  .pipe(z.array(secret).min(1));
const senders = listOf(sender);

const mllpSenders = listOf(
  z
    .string()
    .regex(/^[\w.-]+=(certificate:[\w.-]+|[^|]+\|[^|]+)$/, {
      error:
        'each must have the form name=certificate:name-in-the-certificate or name=MSH-3|MSH-4',
    })
    .transform((text) => {
      const [, sender = '', certificate, application, facility] =
        /^([^=]+)=(?:certificate:(.+)|([^|]+)\|(.+))$/.exec(text) ?? [];
      return certificate === undefined
        ? {
            sender,
            application: spaced(application),
            facility: spaced(facility),
          }
        : { sender, certificate };
    }),
);
/** `+` stands for a space, because spaces separate the senders. */
const spaced = (text = ''): string => text.replaceAll('+', ' ');

/**
 * All variables but those of the sources. The description of each is part of
 * the message about a missing or invalid value.
 */
export const PROCESS_VARIABLES = {
  // Of every process that listens.
  LISTEN_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address on which the process listens'),

  // Of the gateway, and of what it offers to callers, partners and senders.
  GATEWAY_PORT: port
    .default(0)
    .describe('Port of the gateway; 0 for any free port'),
  GATEWAY_DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(10)
    .default(0)
    .describe(
      'How long a stopping gateway reports that it is not ready but still takes requests, so that proxies notice; longer than the interval of their health checks',
    ),
  TRUSTED_PROXIES: proxies
    .default([])
    .describe(
      'Proxies in front of the gateway whose X-Forwarded-For is trusted: addresses or ranges, separated by spaces',
    ),
  SHARED_CONNECTIONS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .default(2)
    .describe(
      'Number of PostgreSQL connections that accounts share evenly in each gateway while several of them are active (each may use one): about the number of cores of PostgreSQL',
    ),
  PUBLIC_BASE_URL: httpUrl.describe(
    'URL at which callers and sources reach the gateway',
  ),
  LOOPBACK_EXCEPT_PORTS: ports
    .optional()
    .describe(
      'Embedded stack only: allows webhook destinations and redirects on this machine by http, but not at these of its ports, separated by spaces',
    ),
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
  MLLP_PORT: port
    .optional()
    .describe(
      'Port on which the gateway takes HL7 v2 messages by MLLP; without it, by HTTP only',
    ),
  MLLP_SENDERS: mllpSenders
    .default([])
    .describe(
      'How senders of NOTIFICATION_SENDERS are recognised on the MLLP port: "name=certificate:name in the client certificate" or "name=MSH-3|MSH-4" (+ for a space), separated by spaces',
    ),
  MLLP_TLS: z
    .string()
    .optional()
    .describe(
      'Folder with tls.crt and tls.key (PEM) for the MLLP port, as a Kubernetes secret has them; with ca.crt, each client must present a certificate of these authorities',
    ),
  IHE_PORT: port
    .optional()
    .describe(
      'Port on which the gateway answers the gateways of networks (ITI-55, 38, 39, 41); without it, nobody is answered',
    ),
  IHE_TLS: z
    .string()
    .optional()
    .describe(
      'Folder with tls.crt and tls.key (PEM, RSA) of our gateway in networks: for IHE_PORT, and for workers to sign deferred answers',
    ),
  IDENTITY_PARTNER_BASE_URL: httpUrl
    .optional()
    .describe(
      'Base URL of the partner that verifies identities for individual access; without it, identity operations return 503',
    ),
  IDENTITY_PARTNER_SECRET: z
    .string()
    .optional()
    .describe(
      'Key with which the identity partner and the exchange sign (Standard Webhooks)',
    ),

  // Of the orchestrator, the starter and the webhook receiver.
  EXCHANGE_BASE_URL: httpUrl.describe(
    'URL of the exchange, ours or another service with the same interface, for the orchestrator; the simulator sends notifications there',
  ),
  EXCHANGE_API_KEY: z
    .string()
    .optional()
    .describe('Orchestrator: API key for another service'),
  EXCHANGE_ACCOUNT_ID: z
    .uuid()
    .optional()
    .describe('Orchestrator: account of our own exchange to act for'),
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
    .describe(
      'API key of the account that `seed` creates, as generated by `npm run secrets`; the starter calls the exchange at --base-url with it',
    ),

  RECEIVER_PORT: port
    .default(0)
    .describe('Port of the webhook receiver; 0 for any free port'),
  WEBHOOK_KEY: z
    .string()
    .optional()
    .describe(
      'Key with which incoming webhooks are signed (webhookKey of the settings)',
    ),
  INTAKE_KEY: z
    .string()
    .optional()
    .describe('Key with which intake webhooks (an EHR, a form) are signed'),

  // Of workers.
  RECONCILE_INTERVAL_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .default(60)
    .describe('Interval at which unfinished work is taken up'),

  WORKER_QUEUES: z
    .string()
    .default('all')
    .describe(
      'Task queues that this worker process polls, separated by spaces, or "all"',
    ),
  WORKER_VERSIONING: z
    .enum(['off', 'on', 'alone'])
    .default('off')
    .describe(
      'Worker Versioning: off; on, for builds side by side; alone, for workers that are all replaced together',
    ),
  BUILD_ID: z
    .string()
    .regex(/^[\w.-]{1,64}$/, {
      error: 'may have 64 letters, digits, dots, dashes and underscores',
    })
    .optional()
    .describe(
      'Names the build of a versioned worker; default: a hash of the sources',
    ),
  WORKER_PORT: port
    .default(0)
    .describe(
      'Port of the worker’s /health, /ready and /metrics; 0 for any free port',
    ),
  WORKER_TEMPORAL_METRICS: z
    .string()
    .regex(/^\S+:\d{1,5}$/, { error: 'must have the form host:port' })
    .optional()
    .describe(
      'host:port on which a worker serves the metrics of the Temporal SDK; without it, not served',
    ),

  // Of seeding, the codec server and the simulator.
  SEED_WEBHOOK_URL: httpUrl
    .optional()
    .describe('Seeding: webhook destination of the demo account'),

  CODEC_PORT: port
    .default(0)
    .describe('Port of the codec server; 0 for any free port'),
  CODEC_PATH_SECRET: secret
    .optional()
    .describe('Secret first segment of the codec server’s path'),

  SIMULATOR_PORT: port
    .default(0)
    .describe('Port of the simulator; 0 for any free port'),
  SIMULATOR_MAIL_PORTS: z
    .string()
    .regex(/^\d+ \d+$/, { error: 'expected two ports, such as "2525 2143"' })
    .transform((text) => text.split(' ').map(Number))
    .optional()
    .describe(
      'Ports of the simulator’s mail system, SMTP and IMAP, such as "2525 2143"; without them there is none',
    ),
  SIMULATOR_MAIL_PASSWORD: secret
    .optional()
    .describe('Password of the user "exchange" in the simulator’s mail system'),
  SIMULATOR_ADMIN_TOKEN: secret
    .optional()
    .describe(
      'Bearer token of the simulator’s /admin; without it, one is generated and printed at the start',
    ),

  // What several processes need: logs, traces, PostgreSQL, Temporal, blobs and
  // keys; and the embedded stack.
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
    .describe(
      'Headers for the collector, such as its API key: name=value,name=value',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe(
      'Share of the traces that are recorded, from 0 to 1; a caller that records its trace always decides for both',
    ),
  OTEL_RESOURCE_ATTRIBUTES: z
    .string()
    .optional()
    .describe(
      'Attributes of all spans, such as deployment.environment.name=production',
    ),
  DATA_DIR: z
    .string()
    .default('.data')
    .describe(
      'Folder for the data of the embedded stack; receiver and simulator keep their logs and jobs there',
    ),
  TEMPORAL_UI_PORT: port
    .default(0)
    .describe('Embedded stack: port of the Temporal UI; 0 for any free port'),

  DATABASE_URL: databaseUrl.describe(
    'PostgreSQL connection URL; append ?sslmode=verify-full&sslrootcert=/path/to/ca.crt for TLS. The login of `migrate` must own the schema or be able to create it',
  ),
  DATABASE_POOL_MAX: z.coerce
    .number()
    .int()
    .min(2)
    .default(20)
    .describe('Maximum number of PostgreSQL connections per process'),
  BLOB_STORE: z
    .url()
    .describe('Storage for blobs: file:///a/folder or s3://bucket/prefix'),

  TEMPORAL_ADDRESS: z
    .string()
    .min(1)
    .describe('host:port of the Temporal frontend'),
  TEMPORAL_NAMESPACE: z
    .string()
    .default('default')
    .describe('Temporal namespace'),
  TEMPORAL_API_KEY: z
    .string()
    .optional()
    .describe('API key of the Temporal cluster; enables TLS'),
  TEMPORAL_TLS_CA: z
    .string()
    .optional()
    .describe(
      'PEM of the authorities to trust for the Temporal cluster instead of public ones; enables TLS',
    ),
  TEMPORAL_TLS_CERT: z
    .string()
    .optional()
    .describe(
      'PEM of our client certificate for the Temporal cluster (mutual TLS); enables TLS',
    ),
  TEMPORAL_TLS_KEY: z
    .string()
    .optional()
    .describe('PEM of the key of TEMPORAL_TLS_CERT'),
  TEMPORAL_UI_URL: httpUrl
    .optional()
    .describe(
      'URL of the Temporal UI, for links; the codec server decodes for pages of its origin only',
    ),

  DATA_KEYS: z
    .string()
    .min(1)
    .describe(
      'Key ring for Temporal payloads and blobs: "id:base64 of 32 bytes", separated by spaces; the first key encrypts; the entry accept-plain lets workers accept Temporal payloads that are not encrypted',
    ),
  ID_HMAC_KEY: secret.describe(
    'Key from which opaque ids and patient matching keys are derived; must never change',
  ),
  LINK_SIGNING_KEY: secret.describe(
    'Signs expiring links and source callback tokens',
  ),
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
} as const;

type Prefix = 'HIE' | 'PHARMACY' | 'LAB';

/**
 * What of a source's connection the environment names: address, login and
 * secrets each by itself, and everything else in one JSON object, whose members
 * are those of src/exchange/sources/connectors/source-settings.ts.
 */
const OF_SOURCE = {
  BASE_URL: httpUrl.describe('FHIR R4 base URL of the source'),
  BEARER_TOKEN: z.string().optional().describe('Bearer token of the source'),
  TOKEN_URL: httpUrl
    .optional()
    .describe('OAuth 2 client credentials: token endpoint of the source'),
  CLIENT_ID: z
    .string()
    .optional()
    .describe('OAuth 2 client credentials: our client id at the source'),
  CLIENT_SECRET: z
    .string()
    .optional()
    .describe('OAuth 2 client credentials: our client secret at the source'),
  CALLBACK_SECRET: z
    .string()
    .optional()
    .describe(
      'Key with which the source signs its callbacks (Standard Webhooks); without it, the source is only polled',
    ),
  SETTINGS: jsonObject
    .default({})
    .describe(
      'JSON object with the other settings of the source (docs/add-a-source.md)',
    ),
};

type OfSource = typeof OF_SOURCE;
type Prefixed<P extends Prefix> = {
  [K in keyof OfSource as `${P}_${K}`]: OfSource[K];
};

/** The variables of one source, each named after the source: `HIE_BASE_URL`. */
const variablesOf = <const P extends Prefix>(prefix: P): Prefixed<P> =>
  Object.fromEntries(
    Object.entries(OF_SOURCE).map(([name, type]) => [
      `${prefix}_${name}`,
      type,
    ]),
  ) as Prefixed<P>;

export const SOURCE_VARIABLES = {
  ...variablesOf('HIE'),
  ...variablesOf('PHARMACY'),
  ...variablesOf('LAB'),
};

/** The names of all variables of one source. */
export const sourceVariableNames = <const P extends Prefix>(
  prefix: P,
): (keyof Prefixed<P>)[] =>
  Object.keys(variablesOf(prefix)) as (keyof Prefixed<P>)[];
