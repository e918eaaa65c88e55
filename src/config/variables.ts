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
 * All variables but those of the sources. `descriptions.json` says what each is
 * for.
 */
export const PROCESS_VARIABLES = {
  // Of every process that listens.
  LISTEN_HOST: z.string().default('127.0.0.1'),

  // Of the gateway, and of what it offers to callers, partners and senders.
  GATEWAY_PORT: port.default(0),
  GATEWAY_DRAIN_SECONDS: z.coerce.number().min(0).max(10).default(0),
  TRUSTED_PROXIES: proxies.default([]),
  SHARED_CONNECTIONS_MAX: z.coerce.number().int().min(1).default(2),
  PUBLIC_BASE_URL: httpUrl,
  LOOPBACK_EXCEPT_PORTS: ports.optional(),
  WEBHOOK_TRUSTED_ORIGINS: origins.default([]),
  NOTIFICATION_SENDERS: senders.default([]),
  MLLP_PORT: port.optional(),
  MLLP_SENDERS: mllpSenders.default([]),
  MLLP_TLS: z.string().optional(),
  IDENTITY_PARTNER_BASE_URL: httpUrl.optional(),
  IDENTITY_PARTNER_SECRET: z.string().optional(),
  MESSAGE_PARTNER_BASE_URL: httpUrl.optional(),
  MESSAGE_PARTNER_SECRET: z.string().optional(),

  // Of the orchestrator, the starter and the webhook receiver.
  EXCHANGE_BASE_URL: httpUrl,
  EXCHANGE_API_KEY: z.string().optional(),
  EXCHANGE_ACCOUNT_ID: z.uuid().optional(),
  EXCHANGE_IDEMPOTENCY: flag.default(true),
  ORCHESTRATOR_FILES: z.url(),

  API_KEY: z.string().optional(),

  RECEIVER_PORT: port.default(0),
  WEBHOOK_KEY: z.string().optional(),
  INTAKE_KEY: z.string().optional(),

  // Of workers.
  RECONCILE_INTERVAL_SECONDS: z.coerce.number().int().min(1).default(60),

  WORKER_QUEUES: z.string().default('all'),
  WORKER_VERSIONING: z.enum(['off', 'on', 'alone']).default('off'),
  BUILD_ID: z
    .string()
    .regex(/^[\w.-]{1,64}$/, {
      error: 'may have 64 letters, digits, dots, dashes and underscores',
    })
    .optional(),
  WORKER_PORT: port.default(0),
  WORKER_TEMPORAL_METRICS: z
    .string()
    .regex(/^\S+:\d{1,5}$/, { error: 'must have the form host:port' })
    .optional(),

  // Of seeding, the codec server and the simulator.
  SEED_WEBHOOK_URL: httpUrl.optional(),

  CODEC_PORT: port.default(0),
  CODEC_PATH_SECRET: secret.optional(),

  SIMULATOR_PORT: port.default(0),
  SIMULATOR_ADMIN_TOKEN: secret.optional(),

  // What several processes need: logs, traces, PostgreSQL, Temporal, blobs and
  // keys; and the embedded stack.
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  OTEL_RESOURCE_ATTRIBUTES: z.string().optional(),
  DATA_DIR: z.string().default('.data'),
  TEMPORAL_UI_PORT: port.default(0),

  DATABASE_URL: databaseUrl,
  DATABASE_POOL_MAX: z.coerce.number().int().min(2).default(20),
  BLOB_STORE: z.url(),

  TEMPORAL_ADDRESS: z.string().min(1),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_TLS_CA: z.string().optional(),
  TEMPORAL_TLS_CERT: z.string().optional(),
  TEMPORAL_TLS_KEY: z.string().optional(),
  TEMPORAL_UI_URL: httpUrl.optional(),

  DATA_KEYS: z.string().min(1),
  ID_HMAC_KEY: secret,
  LINK_SIGNING_KEY: secret,
  INTERNAL_TOKEN_KEY: secret,

  AUDIT_KEY: secrets,
  AUDIT_HEADS: z.url().optional(),
} as const;

type Prefix = 'HIE' | 'PHARMACY' | 'LAB';

/**
 * What of a source's connection the environment names: address, login and
 * secrets each by itself, and everything else in one JSON object, whose members
 * are those of src/exchange/sources/connectors/source-settings.ts.
 */
const OF_SOURCE = {
  BASE_URL: httpUrl,
  BEARER_TOKEN: z.string().optional(),
  TOKEN_URL: httpUrl.optional(),
  CLIENT_ID: z.string().optional(),
  CLIENT_SECRET: z.string().optional(),
  CALLBACK_SECRET: z.string().optional(),
  SETTINGS: jsonObject.default({}),
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
