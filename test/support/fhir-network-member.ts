import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { explainChoices } from '../../src/exchange/queries/network-query/fan-out/choice.ts';
import { insertConnection } from '../../src/exchange/sources/connections/connection-store.ts';
import { createSourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import { rememberGateways } from '../../src/exchange/sources/connections/gateway-store.ts';
import { sealCredentials } from '../../src/exchange/sources/connections/settings.ts';
import { createSharedTokens } from '../../src/exchange/sources/connections/shared-tokens.ts';
import { networkSettingsSchema } from '../../src/exchange/sources/connectors/ihe/network-settings.ts';
import type { PurposeOfUse } from '../../src/exchange/sources/connectors/source-config.ts';
import {
  type ConnectionCredentials,
  connectionSettingsSchema,
} from '../../src/exchange/sources/connectors/source-settings.ts';
import { putDirectory } from '../../src/exchange/sources/directory/directory-store.ts';
import { loadDirectory } from '../../src/exchange/sources/directory/load-directory.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { ada } from './ada.ts';
import {
  type QueryEnvironment,
  runActivity,
} from './network-query-environment.ts';
import { makeTestFolder } from './test-folder.ts';
import { testKeyRing } from './test-keys.ts';

/**
 * An account that is connected to a network of FHIR servers, with Ada as its
 * patient, and what it asks.
 */
export async function connectToFhirNetwork(
  environment: QueryEnvironment,
  credentials: ConnectionCredentials,
  entries: readonly object[],
  settings: Record<string, unknown> = { privateAddresses: true },
) {
  const { store } = environment;
  const keyRing = testKeyRing();
  const { accountId } = await environment.addAccount({
    limits: { networkQueriesPerMinute: 100_000 },
  });
  const patientId = await environment.addPatient(accountId, {}, ada);
  const directory = `fhir-${uuidv7().slice(-12)}`;
  const load = (items: readonly object[]) =>
    loadEntries(store, directory, items);
  await load(entries);
  const id = uuidv7();
  await store.asSystem((tx) =>
    insertConnection(tx, {
      id,
      accountId,
      source: 'hie',
      name: 'TEFCA',
      baseUrl: `directory:${directory}`,
      settings: connectionSettingsSchema.parse({
        network: networkSettingsSchema.parse({
          speaks: 'fhir',
          directory,
          ownHomeCommunity: '2.999.5',
          discoveryTimeoutSeconds: 20,
          ...settings,
        }),
      }),
      authKind: credentials.auth.kind,
      credentials: sealCredentials(keyRing, id, credentials),
      namespace: 'c-00000000~',
      enabled: true,
    }),
  );
  const connections = createSourceConnections(
    { store, keyRing },
    { sharedTokens: createSharedTokens(store, keyRing) },
  );
  const activities = environment.activities(
    {},
    {
      connections,
      sourceHealth: createSourceHealth(store),
    },
  );
  const inTx = <T>(work: Parameters<typeof store.asAccount<T>>[1]) =>
    store.asAccount(accountId, work);
  async function newQuery() {
    const requestId = await environment.addQuery(accountId, patientId, ['hie']);
    const step = {
      accountId,
      requestId,
      run: 0,
      source: 'hie' as const,
      attempt: 1,
    };
    return {
      ask: () => runActivity(activities.askSource, step),
      collect: () => runActivity(activities.collectSource, step),
      /** Ends every wait, as time would. */
      elapse: () =>
        inTx((tx) =>
          sql`update gateway_ask set next_try_at = now() where query_id = ${requestId} and state = 'open'`.execute(
            tx.db,
          ),
        ),
      /** Of each member: its state, and why. */
      states: async () =>
        Object.fromEntries(
          (
            await inTx((tx) =>
              tx.db
                .selectFrom('gateway_ask')
                .select(['home_community', 'state', 'reason'])
                .where('query_id', '=', requestId)
                .execute(),
            )
          ).map(({ home_community, state, reason }) => [
            home_community,
            reason === null ? state : `${state}: ${reason}`,
          ]),
        ),
      outcome: () => environment.outcome(accountId, requestId),
    };
  }
  const choice = () =>
    inTx((tx) =>
      explainChoices(tx, {
        id: patientId,
        addresses: ada.addresses,
        facilityIds: [],
      }),
    );
  /** The connector to a chosen member. */
  async function connectorFor(purpose: PurposeOfUse) {
    const [chosen] = (await choice()).flatMap((each) => each.chosen);
    if (chosen === undefined) throw new Error('no member is chosen');
    const [gateway] = await inTx((tx) => rememberGateways(tx, id, [chosen]));
    if (gateway === undefined) throw new Error('it is not remembered');
    const connectors = await connections.network(accountId, id, purpose);
    return connectors.connectorOf(gateway);
  }
  return { newQuery, load, choice, connectorFor };
}

async function loadEntries(
  store: Parameters<typeof loadDirectory>[0]['store'],
  directory: string,
  entries: readonly object[],
) {
  const file = join(await makeTestFolder(), 'entries.ndjson');
  await writeFile(file, entries.map((each) => JSON.stringify(each)).join('\n'));
  await store.asSystem((tx) => putDirectory(tx, directory, {}));
  return loadDirectory(
    { store },
    { directory, loadId: uuidv7() },
    { address: pathToFileURL(file).href },
    new AbortController().signal,
  );
}
