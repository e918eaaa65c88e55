import { once } from 'node:events';
import { givenVariables, readConfig } from './config.ts';
import {
  type AdminCommandOptions,
  type AdminTarget,
  existingStore,
} from './exchange/operations/admin/command.ts';
import { runAdmin } from './exchange/operations/admin/program.ts';
import { createAuditChain } from './exchange/platform/audit/chain.ts';
import { openAuditHeads } from './exchange/platform/audit/open-heads.ts';
import { createStore } from './exchange/platform/database/database.ts';
import { parseKeyRing } from './lib/key-ring.ts';
import {
  ensureSecrets,
  readConnection,
  temporalOfStack,
} from './local-stack/connection-file.ts';
import { openSealedStorage } from './shared/blobs/open-blob-store.ts';
import type { S3Login } from './shared/blobs/s3-login.ts';
import { createTemporalClient, TEMPORAL_VARIABLES } from './temporal/client.ts';

/**
 * `npm run admin`: manages accounts, facilities, API keys and the audit, in
 * DATABASE_URL or the running embedded stack.
 */
process.exitCode = await runAdmin(process.argv.slice(2), {
  // Wait for a slow reader, so that output does not pile up in memory.
  write: async (text) => {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  },
  writeError: (text) => void process.stderr.write(text),
  open,
});

async function open({ dataDir }: AdminCommandOptions): Promise<AdminTarget> {
  // A data folder given on the command line takes precedence over DATABASE_URL
  // in the environment.
  const { DATABASE_URL } =
    dataDir === undefined ? givenVariables(['DATABASE_URL']) : {};
  if (DATABASE_URL !== undefined)
    return {
      store: createStore({ databaseUrl: DATABASE_URL, poolMax: 2 }),
      gatewayUrl: givenVariables(['PUBLIC_BASE_URL']).PUBLIC_BASE_URL,
      openKeyRing: async () =>
        parseKeyRing(readConfig(['DATA_KEYS']).DATA_KEYS),
      openAudit: async () => {
        const { AUDIT_KEY, AUDIT_HEADS } = readConfig([
          'AUDIT_KEY',
          'AUDIT_HEADS',
        ]);
        return openAudit(AUDIT_KEY, AUDIT_HEADS);
      },
      openTemporal: () =>
        createTemporalClient(readConfig(TEMPORAL_VARIABLES), { lazy: true }),
      openBlobs: async () => openBlobs(readConfig(['BLOB_STORE']).BLOB_STORE),
    };
  const folder = dataDir ?? readConfig(['DATA_DIR']).DATA_DIR;
  const connection = await readConnection(folder);
  const { databaseUrl, storage } = connection;
  return {
    store: createStore({ databaseUrl, poolMax: 2 }),
    gatewayUrl: connection.baseUrl,
    openKeyRing: async () =>
      parseKeyRing((await ensureSecrets(folder)).dataKeys),
    openAudit: async () =>
      openAudit(
        [(await ensureSecrets(folder)).auditKey],
        storage.auditHeads,
        storage.s3,
      ),
    openTemporal: async () =>
      createTemporalClient(await temporalOfStack(folder, connection), {
        lazy: true,
      }),
    openBlobs: () => openBlobs(storage.blobs, storage.s3),
  };
}

async function openBlobs(address: string, login?: S3Login) {
  await existingStore(address, 'BLOB_STORE');
  return openSealedStorage(address, 'BLOB_STORE', login);
}

/**
 * A function declaration, so that it is hoisted: `runAdmin` above is awaited
 * before this line is reached.
 */
async function openAudit(
  keys: readonly string[],
  headsAddress: string | undefined,
  login?: S3Login,
) {
  return {
    chain: createAuditChain(keys),
    heads:
      headsAddress === undefined
        ? undefined
        : await openAuditHeads(headsAddress, login),
  };
}
