import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * How to reach the exchange and Temporal, and the keys that Temporal's payloads
 * are encrypted with.
 */
export interface Connection {
  exchangeUrl: string;
  apiKey: string;
  temporalAddress: string;
  temporalNamespace: string;
  dataKeys: string;
  idHmacKey: string;
}

/**
 * Reads the settings from the environment, or else from the data folder of a
 * local `npm start` (DATA_DIR). Throws when a setting is in neither.
 */
export async function readConnection(): Promise<Connection> {
  const dataDir =
    process.env.DATA_DIR ?? join(import.meta.dirname, '../../../.data');
  const [stack, secrets] = await Promise.all([
    readJson(join(dataDir, 'connection.json')),
    readJson(join(dataDir, 'secrets.json')),
  ]);
  const setting = (variable: string, local: string | undefined): string => {
    const value = process.env[variable] ?? local;
    if (value === undefined)
      throw new Error(
        `${variable} is not set, and no local stack runs with ${dataDir}; set it, or start a stack with: npm start`,
      );
    return value;
  };
  return {
    exchangeUrl: setting('EXCHANGE_BASE_URL', stack.baseUrl),
    apiKey: setting('EXCHANGE_API_KEY', stack.apiKey),
    temporalAddress: setting('TEMPORAL_ADDRESS', stack.temporalAddress),
    temporalNamespace: setting('TEMPORAL_NAMESPACE', stack.temporalNamespace),
    dataKeys: setting('DATA_KEYS', secrets.dataKeys),
    idHmacKey: setting('ID_HMAC_KEY', secrets.idHmacKey),
  };
}

async function readJson(
  path: string,
): Promise<Record<string, string | undefined>> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return {};
  }
}
