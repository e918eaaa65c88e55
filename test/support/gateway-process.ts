import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { systemEnvironment } from '../../src/config.ts';
import { TEST_INTERNAL_KEY, TEST_LINK_KEY } from './gateway.ts';
import { TEST_DATA_KEYS, TEST_ID_HMAC_KEY } from './test-keys.ts';

export interface GatewayProcess {
  process: ChildProcess;
  baseUrl: string;
}

/** Starts `src/gateway.ts` as it runs in a deployment. */
export async function startGatewayProcess(options: {
  databaseUrl: string;
  temporalAddress: string;
  blobFolder: string;
  variables?: Record<string, string>;
}): Promise<GatewayProcess> {
  const { databaseUrl, temporalAddress, blobFolder, variables = {} } = options;
  const child = fork('src/gateway.ts', [], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...systemEnvironment(),
      LOG_LEVEL: 'warn',
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: temporalAddress,
      DATA_KEYS: TEST_DATA_KEYS,
      BLOB_STORE: pathToFileURL(join(blobFolder, 'blobs')).href,
      ID_HMAC_KEY: TEST_ID_HMAC_KEY,
      LINK_SIGNING_KEY: TEST_LINK_KEY,
      INTERNAL_TOKEN_KEY: TEST_INTERNAL_KEY,
      PUBLIC_BASE_URL: 'http://127.0.0.1',
      ...variables,
    },
  });
  const [message] = await once(child, 'message');
  return { process: child, baseUrl: message.info.url as string };
}
