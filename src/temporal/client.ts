import { createHmac } from 'node:crypto';
import { Client, type Connection, type TLSConfig } from '@temporalio/client';
import { type Config, ConfigError } from '../config.ts';
import { parseKeyRing } from '../lib/key-ring.ts';
import { isTracing } from '../lib/tracing/spans.ts';
import { openConnection } from './connection.ts';
import { latestApiKey } from './credentials.ts';
import { createDataConverter } from './data-converter.ts';
import { clientTraces } from './tracing/in-processes.ts';

const CERTIFICATES = [
  'TEMPORAL_TLS_CA',
  'TEMPORAL_TLS_CERT',
  'TEMPORAL_TLS_KEY',
] as const;
const CONNECTION = [
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'DATA_KEYS',
] as const;
export const TEMPORAL_VARIABLES = [...CONNECTION, ...CERTIFICATES] as const;
export type TemporalConfig = Config<(typeof CONNECTION)[number]> &
  Partial<Config<(typeof CERTIFICATES)[number]>>;

/**
 * A client whose connection can be closed and also reaches the operator
 * service.
 */
export type TemporalClient = Client & { readonly connection: Connection };

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Creates a client that encrypts payloads with the key ring. With `lazy`, it
 * connects at the first call, so that a process can start and respond while
 * Temporal is down; otherwise this throws when the server cannot be reached.
 * Close it with `client.connection.close()`.
 */
export async function createTemporalClient(
  config: TemporalConfig,
  { lazy = false }: { lazy?: boolean } = {},
): Promise<TemporalClient> {
  const { apiKey, ...rest } = temporalConnectionOptions(config);
  const options = {
    ...rest,
    ...(apiKey === undefined ? {} : { apiKey: latestApiKey(apiKey) }),
    connectTimeout: CONNECT_TIMEOUT_MS,
  };
  const connection = await openConnection(options, { lazy });
  const dataConverter = createDataConverter(parseKeyRing(config.DATA_KEYS));
  const client = new Client({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    dataConverter,
    ...(isTracing() ? { interceptors: { workflow: [clientTraces] } } : {}),
  });
  return Object.assign(client, { connection });
}

/**
 * Connection options shared by clients and workers. Throws ConfigError when a
 * certificate lacks its key, or a key its certificate.
 */
export const temporalConnectionOptions = (config: TemporalConfig) => ({
  address: config.TEMPORAL_ADDRESS,
  tls: tlsOf(config),
  ...(config.TEMPORAL_API_KEY === undefined
    ? {}
    : { apiKey: config.TEMPORAL_API_KEY }),
});

function tlsOf(config: TemporalConfig): TLSConfig | boolean {
  const {
    TEMPORAL_TLS_CA: ca,
    TEMPORAL_TLS_CERT: cert,
    TEMPORAL_TLS_KEY: key,
  } = config;
  if ((cert === undefined) !== (key === undefined))
    throw new ConfigError(
      'TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY belong together: set both or neither',
    );
  if (ca === undefined && cert === undefined)
    return config.TEMPORAL_API_KEY !== undefined;
  return {
    ...(ca === undefined ? {} : { serverRootCACertificate: Buffer.from(ca) }),
    ...(cert === undefined || key === undefined
      ? {}
      : { clientCertPair: { crt: Buffer.from(cert), key: Buffer.from(key) } }),
  };
}

/**
 * Converts a caller's value (a job id, an idempotency key, a callback
 * reference) to an id that may appear in clear text in Temporal: 32 hex digits
 * of an HMAC-SHA256, stable for the same key, purpose and value. Callers' ids
 * may contain record numbers, and the plain hash of one could be guessed.
 */
export function opaqueId(
  hmacKey: string,
  purpose: string,
  value: string,
): string {
  // The length of the purpose distinguishes ("ab", "c") from ("a", "bc").
  return createHmac('sha256', hmacKey)
    .update(`${purpose.length}:${purpose}:${value}`)
    .digest('hex')
    .slice(0, 32);
}
