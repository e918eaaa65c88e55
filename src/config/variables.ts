import { z } from 'zod';
import {
  databaseUrl,
  flag,
  httpUrl,
  jsonObject,
  mllpSenders,
  origins,
  port,
  ports,
  proxies,
  secret,
  secrets,
  senders,
} from './value-types.ts';

/** All variables but those of the sources. `descriptions.json` says what each is for. */
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
    .regex(/^[\w.-]{1,64}$/, { error: 'may have 64 letters, digits, dots, dashes and underscores' })
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

  // What several processes need: logs, traces, PostgreSQL, Temporal, blobs and keys; and the embedded stack.
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
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
 * What of a source's connection the environment names: address, login and secrets each by itself, and everything else in one
 * JSON object, whose members are those of src/exchange/sources/connectors/source-settings.ts.
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
type Prefixed<P extends Prefix> = { [K in keyof OfSource as `${P}_${K}`]: OfSource[K] };

/** The variables of one source, each named after the source: `HIE_BASE_URL`. */
const variablesOf = <const P extends Prefix>(prefix: P): Prefixed<P> =>
  Object.fromEntries(
    Object.entries(OF_SOURCE).map(([name, type]) => [`${prefix}_${name}`, type]),
  ) as Prefixed<P>;

export const SOURCE_VARIABLES = {
  ...variablesOf('HIE'),
  ...variablesOf('PHARMACY'),
  ...variablesOf('LAB'),
};

/** The names of all variables of one source. */
export const sourceVariableNames = <const P extends Prefix>(prefix: P): (keyof Prefixed<P>)[] =>
  Object.keys(variablesOf(prefix)) as (keyof Prefixed<P>)[];
