import { z } from 'zod';
import { databaseUrl, flag, httpUrl, port, secret, secrets } from './value-types.ts';

/** What several processes need: logs, traces, PostgreSQL, Temporal, blobs and keys; and the embedded stack. */
export const SHARED_VARIABLES = {
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
} as const;
