import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import type { SourceConnections } from '../../src/exchange/sources/connections/connections.ts';
import { oidOf } from '../support/directory-entries.ts';
import {
  away,
  type Behaviour,
  found,
  hangs,
  later,
  nobody,
  refuses,
  gatewayTest as test,
} from '../support/gateway-network.ts';
import { propertyOf } from '../support/property.ts';
import { type SeededRandom, seededRandom } from '../support/seeded-random.ts';

/** What befalls a step. */
interface Fault {
  /** Its worker dies at so many transactions and questions; 0: it lives. */
  diesAfter: number;
  /** Of 100 transactions, so many fail, and so many are slow. */
  fail: number;
  slow: number;
}

class Dead extends Error {}

const connectionLost = () =>
  Object.assign(new Error('Connection terminated unexpectedly'), {
    code: '57P01',
  });
const noConnection = () => new Error('timeout exceeded when trying to connect');

/** A worker that loses connections, waits for them, and dies. */
function faultyWorker(store: Store, fault: Fault, random: SeededRandom) {
  let passed = 0;
  let isDead = false;
  const died = Promise.withResolvers<never>();
  died.promise.catch(() => undefined);
  const live = () => {
    passed += 1;
    if (fault.diesAfter !== 0 && passed >= fault.diesAfter && !isDead) {
      isDead = true;
      died.reject(new Dead());
    }
    if (isDead) throw new Dead();
  };
  const isUnlucky = (of100: number) => random.between(1, 100) <= of100;
  const asAccount: Store['asAccount'] = async (accountId, work) => {
    live();
    if (isUnlucky(fault.slow))
      await new Promise((resolve) => setTimeout(resolve, 40));
    if (isUnlucky(fault.fail)) throw noConnection();
    const result = await store.asAccount(accountId, async (tx) => {
      const worked = await work(tx);
      live();
      return worked;
    });
    // Committed, and nobody hears of it.
    live();
    if (isUnlucky(fault.fail)) throw connectionLost();
    return result;
  };
  return {
    isDead: () => isDead,
    /** Questions that were sent when it died, and not answered. */
    open: new Set<string>(),
    worker: {
      store: { ...store, asAccount },
      of: (connections: SourceConnections): SourceConnections => ({
        ...connections,
        network: async (...args) => {
          const network = await connections.network(...args);
          return {
            ...network,
            connectorOf: (gateway) => {
              const connector = network.connectorOf(gateway);
              return {
                ...connector,
                begin: async (...asked) => {
                  live();
                  return Promise.race([
                    connector.begin(...asked),
                    died.promise,
                  ]);
                },
              };
            },
          };
        },
      }),
    },
  };
}

const broken: Behaviour = async () => {
  throw new TypeError('a mistake of ours with this gateway');
};

const slow: Behaviour = async () => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return { kind: 'unknown-patient' };
};

/** What a gateway does, and how it is to end. */
const KINDS = {
  nobody: { does: nobody, ends: 'nobody' },
  slow: { does: slow, ends: 'nobody' },
  found: { does: found, ends: 'found' },
  refuses: { does: refuses, ends: 'failed' },
  hangs: { does: hangs, ends: 'failed' },
  away: { does: away, ends: 'failed' },
  broken: { does: broken, ends: 'failed' },
  foundLater: { does: later, ends: 'found' },
  nobodyLater: { does: later, ends: 'nobody' },
} as const;
type Kind = keyof typeof KINDS;

const fault = fc.record({
  diesAfter: fc.oneof(
    { weight: 2, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 3, max: 120 }) },
  ),
  fail: fc.constantFrom(0, 5, 30, 50),
  slow: fc.constantFrom(0, 20),
});
const shares: [number, Kind][] = [
  [50, 'nobody'],
  [15, 'slow'],
  [10, 'found'],
  [5, 'refuses'],
  [3, 'hangs'],
  [3, 'away'],
  [2, 'broken'],
  [3, 'foundLater'],
  [3, 'nobodyLater'],
];
const kinds = fc.array(
  fc.oneof(
    ...shares.map(([weight, kind]) => ({
      weight,
      arbitrary: fc.constant(kind),
    })),
  ),
  { minLength: 5, maxLength: 90 },
);

const oneOfAll = propertyOf(
  [kinds, fc.array(fault, { minLength: 1, maxLength: 6 }), fc.integer()],
  // A smaller example takes minutes to find.
  { numRuns: 20, endOnFailure: true },
);

describe('a query over gateways whose database fails and whose workers die', () => {
  test(
    oneOfAll.named(
      'asks each gateway once when it is due, unless its worker died then, and accounts for each once',
    ),
    ({ network, environment }) =>
      oneOfAll.holds(async (others, faults, seed) => {
        // One that answers, so that the attempt does not fail.
        const gateways: Kind[] = ['nobody', ...others];
        const random = seededRandom(seed);
        const { asked, does, newQuery } = await network.newNetwork(
          gateways.length,
        );
        gateways.forEach((kind, index) => {
          does(KINDS[kind].does, index + 1);
        });
        const query = await newQuery();
        await query.ask();

        const rows = () =>
          query.inTx((tx) =>
            tx.db
              .selectFrom('gateway_ask')
              .select(['home_community', 'state', 'next_try_at'])
              .select(['claimed_step', 'answers'])
              .where('query_id', '=', query.requestId)
              .execute(),
          );
        const due = new Map<string, number>();
        const mayAsk = (gateway: string) =>
          due.set(gateway, (due.get(gateway) ?? 0) + 1);
        for (const index of gateways.keys()) mayAsk(oidOf(index + 1));

        let isOver = false;
        for (let steps = 0; !isOver; steps += 1) {
          expect(steps, 'it comes to an end').toBeLessThan(60);
          const bad = faults[steps] ?? { diesAfter: 0, fail: 0, slow: 0 };
          const by = faultyWorker(environment.store, bad, random);
          const before = asked.length;
          const answer = await query.collect(by.worker).catch(() => undefined);
          isOver = answer?.state === 'completed';
          const now = await rows();
          if (by.isDead()) {
            const sent = new Set(asked.slice(before));
            for (const { home_community, claimed_step } of now)
              if (claimed_step !== null && sent.has(home_community))
                mayAsk(home_community);
            continue;
          }
          if (answer?.state !== 'waiting') continue;
          // Time passes, and answers come.
          for (const each of now) {
            const number = Number(each.home_community.split('.').at(-1));
            if (each.state === 'open') mayAsk(each.home_community);
            if (each.state !== 'waiting' || each.answers > 0) continue;
            mayAsk(each.home_community);
            const isFound = gateways[number - 1] === 'foundLater';
            does(isFound ? found : nobody, number);
            await query.answer(number);
          }
          await query.elapse();
        }

        const over = Object.entries(Object.groupBy(asked, (gateway) => gateway))
          .map(([gateway, asks = []]) => ({
            kind: gateways[Number(gateway.split('.').at(-1)) - 1],
            times: asks.length,
            due: due.get(gateway) ?? 0,
          }))
          .filter(({ times, due: most }) => times > most);
        expect(over, 'asked more often than it was due').toEqual([]);

        const states = await query.states();
        const expected = Object.groupBy(
          gateways.keys(),
          (index) => KINDS[gateways[index] ?? 'nobody'].ends,
        );
        expect(states).toEqual(
          Object.fromEntries(
            Object.entries(expected).map(([state, indexes]) => [
              state,
              indexes.map((index) => index + 1),
            ]),
          ),
        );
        const parts = await query.inTx((tx) =>
          tx.db
            .selectFrom('network_query_part')
            .select(['status', 'resources'])
            .where('query_id', '=', query.requestId)
            .execute(),
        );
        expect(parts).toEqual(
          (states.found ?? []).map(() => ({
            status: 'completed',
            resources: 1,
          })),
        );
        const told = await query.timeline();
        expect(told.filter((each) => each.startsWith('found:'))).toHaveLength(
          parts.length,
        );
      }),
  );
});
