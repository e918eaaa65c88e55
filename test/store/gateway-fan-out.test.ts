import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { describe, expect } from 'vitest';
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
import { madeOrganization, oidOf } from '../support/directory-entries.ts';
import { queryTest } from '../support/fixtures.ts';
import { closedGate } from '../support/gate.ts';
import {
  runActivity,
  unwilling,
} from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';

/** What a gateway does when it is asked for the patient. */
type Behaviour = (signal: AbortSignal) => ReturnType<SourceConnector['begin']>;

const nobody: Behaviour = async () => ({ kind: 'unknown-patient' });
const found: Behaviour = async () => ({
  kind: 'ready',
  pages: sourceOf([]).pagesFrom(0),
  cursor: { page: 0 },
});
const later: Behaviour = async () => ({ kind: 'accepted', job: {} });
const refuses: Behaviour = async () => {
  throw new SourceFailure('refused', 'hie refuses this');
};
const away: Behaviour = async () => {
  throw new SourceFailure('transport', 'hie is away');
};
const hangs: Behaviour = (signal) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () =>
      reject(new SourceFailure('transport', 'aborted')),
    );
  });

let directories = 0;

const test = queryTest.extend(
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
        const activities = environment.activities({}, { connections });
        const inTx = <T>(work: Parameters<typeof store.asAccount<T>>[1]) =>
          store.asAccount(accountId, work);
        return {
          requestId,
          step,
          ask: () => runActivity(activities.askSource, step),
          collect: () => runActivity(activities.collectSource, step),
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

describe('a query over the gateways of a network', () => {
  test('accounts for each gateway once, keeps what is found, and names those that could not be asked', async ({
    network,
  }) => {
    const { does, asked, newQuery } = await network.newNetwork(300);
    does(found, 7, 200);
    does(hangs, 3, 4);
    does(refuses, 5);
    const query = await newQuery();
    expect(await query.ask()).toEqual({ state: 'ready', asksGateways: true });
    expect(asked).toEqual([]);
    expect(await query.collect()).toMatchObject({
      state: 'completed',
      resources: 2,
      note: expect.stringContaining('3 of 300 gateways could not be asked'),
    });
    const { nobody: unknown, ...others } = await query.states();
    expect(others).toEqual({ found: [7, 200], failed: [3, 4, 5] });
    expect(unknown).toHaveLength(295);
    expect(new Set(asked).size).toBe(300);
    expect(asked).toHaveLength(300);
    const told = await query.timeline();
    expect(told).toContain('asked: Asking 300 gateways of Network');
    expect(told).toContain(
      'gateways-asked: 300 gateways asked: 2 found the patient, 295 do not know the patient, 3 could not be asked',
    );
    expect(told.filter((each) => each.startsWith('found:'))).toHaveLength(2);
    expect((await query.view()).status).toBe('completed');
  });

  test('completes without data when no gateway knows the patient', async ({
    network,
  }) => {
    const { newQuery } = await network.newNetwork(3);
    const query = await newQuery();
    await query.ask();
    expect(await query.collect()).toEqual({
      state: 'completed',
      resources: 0,
      note: 'The source does not know this patient',
    });
  });

  test('fails when no gateway could be asked, and when none is near', async ({
    network,
  }) => {
    const { does, newQuery } = await network.newNetwork(2);
    does(refuses, 1, 2);
    const query = await newQuery();
    await query.ask();
    await expect(query.collect()).rejects.toThrow(
      '2 of 2 gateways could not be asked: 2: hie refuses this',
    );
    const empty = await (await network.newNetwork(0)).newQuery();
    await empty.ask();
    await expect(empty.collect()).rejects.toThrow('No gateway of the network');
  });

  test('asks a gateway that is away again, three times, and then counts it as failed', async ({
    network,
  }) => {
    const { does, asked, newQuery } = await network.newNetwork(2);
    does(away, 1);
    const query = await newQuery();
    await query.ask();
    const first = await query.collect();
    expect(first).toMatchObject({ state: 'waiting', asksGateways: true });
    for (let again = 0; again < 2; again += 1) {
      await query.elapse();
      expect(await query.collect()).toMatchObject({ state: 'waiting' });
    }
    await query.elapse();
    expect(await query.collect()).toMatchObject({ state: 'completed' });
    expect(asked.filter((each) => each === oidOf(1))).toHaveLength(4);
    expect(await query.states()).toEqual({ nobody: [2], failed: [1] });
  });

  test('uses answers that come later, and is told of several once', async ({
    network,
  }) => {
    const { does, newQuery } = await network.newNetwork(4);
    does(later, 1, 2, 3);
    const query = await newQuery();
    await query.ask();
    expect(await query.collect()).toMatchObject({
      state: 'waiting',
      hasEndedPart: true,
    });
    expect(await query.states()).toEqual({ waiting: [1, 2, 3], nobody: [4] });
    expect(await query.answer(1)).toBe('tell');
    expect(await query.answer(2)).toBe('told');
    does(found, 1);
    does(nobody, 2);
    expect(await query.collect()).toMatchObject({
      state: 'waiting',
      hasEndedPart: true,
    });
    expect(await query.answer(3)).toBe('tell');
    does(nobody, 3);
    expect(await query.collect()).toMatchObject({
      state: 'completed',
      resources: 1,
    });
  });

  test('takes no answer from a step that another one has replaced', async ({
    network,
  }) => {
    const { does, newQuery } = await network.newNetwork(2);
    const gate = closedGate();
    const reached = closedGate();
    does(async () => {
      reached.open();
      await gate.passed;
      return { kind: 'unknown-patient' };
    }, 1);
    const query = await newQuery();
    await query.ask();
    const old = query.collect().catch((error: unknown) => error);
    await reached.passed;
    does(refuses, 1);
    expect(await query.collect()).toMatchObject({ state: 'completed' });
    gate.open();
    await old;
    expect(await query.states()).toEqual({ failed: [1], nobody: [2] });
  });

  test('ends what is open when it is given up', async ({ network }) => {
    const { does, newQuery } = await network.newNetwork(2);
    does(later, 1);
    const query = await newQuery();
    await query.ask();
    await query.collect();
    await query.fail();
    expect(await query.states()).toEqual({ failed: [1], nobody: [2] });
  });

  test('asks the gateways that had the patient first the next time, new ones once, and not those that said nobody', async ({
    network,
  }) => {
    const { does, asked, addGateways, newQuery } = await network.newNetwork(5);
    does(found, 4);
    does(refuses, 2);
    const first = await newQuery();
    await first.ask();
    await first.collect();
    await addGateways(6, 7);
    asked.length = 0;
    const second = await newQuery();
    await second.ask();
    await second.collect();
    expect(asked.map((oid) => Number(oid.split('.').at(-1)))).toEqual([
      4, 2, 6,
    ]);
    expect((await second.timeline()).join()).toContain(
      'Asking 3 gateways of Network; not asked: 3 known not to have the patient',
    );
  });
});
