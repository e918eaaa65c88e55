import type { SeededAccount } from '../exchange/accounts/seed.ts';
import { createWebhookKeys } from '../exchange/platform/outbox/webhook-key.ts';
import { parseKeyRing } from '../lib/key-ring.ts';
import type { StackConnection } from './connection-file.ts';
import { ensureServiceLogin, prepareDatabase } from './stack-database.ts';
import { gatewayUrl, receiverUrl, type StackFacts, simulatorUrl } from './stack-environment.ts';
import type { ServerContext, StackTemporal } from './stack-servers.ts';
import { type StackStorage, storageInFolders } from './stack-storage.ts';

export interface PreparedStack {
  readonly facts: StackFacts;
  readonly account: SeededAccount;
}

/** Migrates the database, seeds the demo account, and returns what the environments of all processes are built from. */
export async function prepareStack(
  { dataDir, ports, secrets, outside }: ServerContext,
  {
    databaseUrl,
    temporal,
    logLevel,
    storage = storageInFolders(dataDir),
  }: { databaseUrl: string; temporal: StackTemporal; logLevel: string; storage?: StackStorage },
): Promise<PreparedStack> {
  const account = await prepareDatabase(databaseUrl, {
    apiKey: secrets.apiKey,
    webhookKey: secrets.webhookKey,
    webhookKeys: createWebhookKeys(parseKeyRing(secrets.dataKeys)),
    webhookUrl: `${receiverUrl(ports)}/webhooks`,
  });
  const facts: StackFacts = {
    dataDir,
    logLevel,
    secrets,
    ports,
    databaseUrl:
      outside.databaseUrl ?? (await ensureServiceLogin(databaseUrl, secrets.serviceDatabasePassword)),
    temporal: {
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      ...temporal.environment,
    },
    storage,
    accountId: account.accountId,
    webhookKey: account.webhookKey,
    sources: outside.sources ?? {},
  };
  return { facts, account };
}

/** How to reach the stack. */
export function connectionOf(
  { facts: { ports, secrets, storage }, account }: PreparedStack,
  { databaseUrl, temporal }: { databaseUrl: string; temporal: StackTemporal },
): StackConnection {
  return {
    pid: process.pid,
    baseUrl: gatewayUrl(ports),
    apiKey: account.apiKey,
    accountId: account.accountId,
    facilityId: account.facilityId,
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    temporalUiUrl: temporal.uiUrl,
    temporalUiLink: temporal.ui?.link(),
    databaseUrl,
    storage,
    simulatorUrl: simulatorUrl(ports),
    simulatorAdminToken: secrets.simulatorAdminToken,
    receiverUrl: receiverUrl(ports),
    codecUrl: temporal.ui?.codecUrl,
    codecToken: temporal.ui === undefined ? undefined : secrets.codecToken,
  };
}
