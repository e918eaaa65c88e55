import { Client, Connection } from '@temporalio/client';
import type { Config } from '../config.ts';
import { parseKeyRing } from '../lib/key-ring.ts';
import { createDataConverter } from './data-converter.ts';

export const TEMPORAL_VARIABLES = [
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS',
  'DATA_KEYS',
] as const;
export type TemporalConfig = Config<(typeof TEMPORAL_VARIABLES)[number]>;

/** A client whose connection can be closed and also reaches the operator service. */
export type TemporalClient = Client & { readonly connection: Connection };

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Creates a client that encrypts payloads with the key ring. With `lazy`, it connects at the first call, so that a process
 * can start and respond while Temporal is down; otherwise this throws when the server cannot be reached. Close it with
 * `client.connection.close()`.
 */
export async function createTemporalClient(
  config: TemporalConfig,
  { lazy = false }: { lazy?: boolean } = {},
): Promise<TemporalClient> {
  const options = { ...temporalConnectionOptions(config), connectTimeout: CONNECT_TIMEOUT_MS };
  const connection = lazy ? Connection.lazy(options) : await Connection.connect(options);
  const dataConverter = createDataConverter(parseKeyRing(config.DATA_KEYS));
  const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE, dataConverter });
  return Object.assign(client, { connection });
}

/** Connection options shared by clients and workers. */
export const temporalConnectionOptions = (config: TemporalConfig) => ({
  address: config.TEMPORAL_ADDRESS,
  tls: config.TEMPORAL_TLS || config.TEMPORAL_API_KEY !== undefined,
  ...(config.TEMPORAL_API_KEY === undefined ? {} : { apiKey: config.TEMPORAL_API_KEY }),
});
