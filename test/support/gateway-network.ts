import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { noteAnswer } from '../../src/exchange/queries/network-query/fan-out/ask-store.ts';
import { insertConnection } from '../../src/exchange/sources/connections/connection-store.ts';
import type { SourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import { readGateways } from '../../src/exchange/sources/connections/gateway-store.ts';
import {
  type SourceConnector,
  SourceFailure,
} from '../../src/exchange/sources/connectors/connector.ts';
import { networkSettingsSchema } from '../../src/exchange/sources/connectors/ihe/network-settings.ts';
import { namespaced } from '../../src/exchange/sources/connectors/namespaced-connector.ts';
import { connectionSettingsSchema } from '../../src/exchange/sources/connectors/source-settings.ts';
import {
  putDirectory,
  writeEntries,
} from '../../src/exchange/sources/directory/directory-store.ts';
import { readDirectoryResource } from '../../src/exchange/sources/directory/rules/read-resource.ts';
import { madeOrganization, oidOf } from './directory-entries.ts';
import { queryTest } from './fixtures.ts';
import { runActivity, unwilling } from './network-query-environment.ts';
import { observation, page, sourceOf } from './source-pages.ts';

/** What a gateway does when it is asked for the patient. */
export type Behaviour = (
  signal: AbortSignal,
) => ReturnType<SourceConnector['begin']>;

export const nobody: Behaviour = async () => ({ kind: 'unknown-patient' });
export const found: Behaviour = async () => ({
  kind: 'ready',
  pages: sourceOf([]).pagesFrom(0),
  cursor: { page: 0 },
});
export const later: Behaviour = async () => ({ kind: 'accepted', job: {} });
export const refuses: Behaviour = async () => {
  throw new SourceFailure('refused', 'hie refuses this');
};
export const away: Behaviour = async () => {
  throw new SourceFailure('transport', 'hie is away');
};
export const hangs: Behaviour = (signal) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () =>
      reject(new SourceFailure('transport', 'aborted')),
    );
  });

/** A worker of a test, with a store and connections of its own. */
export interface Worker {
  store?: Store;
  of?: (connections: SourceConnections) => SourceConnections;
}

let directories = 0;

/**
 * Tests of a file with a `network`: accounts that are connected to gateways,
 * which do what a test says.
 */
export const gatewayTest = queryTest.extend(
  'network',
  { scope: 'file' },
  async ({ environment }) => {
    /** An account with a network of so many gateways, and what they do. */
    async function newNetwork(gateways: number) {
      const { accountId } = await environment.addAccount({
        limits: { networkQueriesPerMinute: 100_000 },
      });
      const patientId = await environment.addPatient(accountId);
      directories += 1;
      const directory = `network-${directories}`;
      const connectionId = uuidv7();
      const { store } = environment;
      const loadId = uuidv7();
      await store.asSystem(async (tx) => {
        await putDirectory(tx, directory, {});
        await insertConnection(tx, {
          id: connectionId,
          accountId,
          source: 'hie',
          name: 'Network',
          baseUrl: `directory:${directory}`,
          settings: connectionSettingsSchema.parse({
            network: networkSettingsSchema.parse({
              directory,
              ownHomeCommunity: '2.999.9',
              gatewaysMax: 5_000,
              withinMiles: 10_000,
            }),
          }),
          authKind: 'none',
          credentials: Buffer.alloc(0),
          namespace: 'c-00000000~',
          enabled: true,
        });
      });
      const addGateways = (from: number, to: number) =>
        store.asSystem(async (tx) => {
          const entries = [];
          for (let number = from; number < to; number += 1) {
            const gateway = `https://g${number}.example`;
            const read = readDirectoryResource(
              JSON.stringify(
                madeOrganization({
                  number,
                  gateway,
                  position: { latitude: 40, longitude: -80 },
                }),
              ),
            );
            if (read.kind !== 'entry') throw new Error(read.kind);
            entries.push({
              ...read.entry,
              content: '00',
              positionFrom: 'location' as const,
            });
          }
          await writeEntries(tx, { directory, loadId }, entries);
          await sql`update directory_entry set gateway_id = id where directory = ${directory}`.execute(
            tx.db,
          );
        });
      await addGateways(1, gateways + 1);

      const behaviours = new Map<string, Behaviour>();
      const asked: string[] = [];
      const connectorOf = (of: { homeCommunity: string; namespace: string }) =>
        namespaced(
          {
            ...unwilling,
            begin: (_person, _options, signal) => {
              asked.push(of.homeCommunity);
              return (behaviours.get(of.homeCommunity) ?? nobody)(signal);
            },
            resume: () =>
              sourceOf([
                page([observation('1', of.homeCommunity)], {
                  patientIds: ['p1'],
                }),
              ]).pagesFrom(0),
          },
          of.namespace,
        );
      const connections: SourceConnections = {
        toAsk: async () => [],
        connector: async (account, id) => {
          const [gateway] = (
            await store.asAccount(account, (tx) => readGateways(tx, [id]))
          ).values();
          if (gateway === undefined) throw new Error('no such gateway');
          return connectorOf(gateway);
        },
        network: async () => ({ discoveryTimeoutMs: 500, connectorOf }),
      };

      async function newQuery() {
        const requestId = await environment.addQuery(accountId, patientId, [
          'hie',
        ]);
        const step = {
          accountId,
          requestId,
          run: 0,
          source: 'hie' as const,
          attempt: 1,
        };
        const activitiesOn = (by: Worker = {}) =>
          environment.activities(
            {},
            {
              ...(by.store === undefined ? {} : { store: by.store }),
              connections: by.of?.(connections) ?? connections,
            },
          );
        const activities = activitiesOn();
        const inTx = <T>(work: Parameters<typeof store.asAccount<T>>[1]) =>
          store.asAccount(accountId, work);
        return {
          requestId,
          step,
          ask: () => runActivity(activities.askSource, step),
          collect: (by?: Worker) =>
            runActivity(
              by === undefined
                ? activities.collectSource
                : activitiesOn(by).collectSource,
              step,
            ),
          inTx,
          fail: () =>
            runActivity(activities.recordFailedAttempt, {
              ...step,
              reason: 'Given up on request',
              abandoned: true,
            }),
          /** Ends every wait, as time would. */
          elapse: () =>
            inTx((tx) =>
              sql`update gateway_ask set next_try_at = now() where query_id = ${requestId} and state = 'open'`.execute(
                tx.db,
              ),
            ),
          answer: (number: number) =>
            inTx(async (tx) => {
              const row = await tx.db
                .selectFrom('gateway_ask')
                .select('gateway_id')
                .where('query_id', '=', requestId)
                .where('home_community', '=', oidOf(number))
                .executeTakeFirstOrThrow();
              return noteAnswer(
                tx,
                { requestId, source: 'hie', attempt: 1 },
                row.gateway_id,
              );
            }),
          /** By state, which gateways are in it. */
          states: async () => {
            const rows = await inTx((tx) =>
              tx.db
                .selectFrom('gateway_ask')
                .select(['state', 'home_community', 'reason'])
                .where('query_id', '=', requestId)
                .orderBy('place')
                .execute(),
            );
            const groups = Map.groupBy(rows, ({ state }) => state);
            return Object.fromEntries(
              [...groups].map(([state, each]) => [
                state,
                each
                  .map(({ home_community }) =>
                    Number(home_community.split('.').at(-1)),
                  )
                  .sort((one, other) => one - other),
              ]),
            );
          },
          timeline: async () =>
            (await environment.timeline(accountId, requestId)).map(
              ({ kind, message }) => `${kind}: ${message}`,
            ),
          view: () => environment.view(accountId, requestId),
        };
      }
      return {
        patientId,
        asked,
        addGateways,
        newQuery,
        does: (behaviour: Behaviour, ...numbers: number[]) => {
          for (const number of numbers)
            behaviours.set(oidOf(number), behaviour);
        },
      };
    }
    return { newNetwork };
  },
);
