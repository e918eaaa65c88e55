import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  askerAt,
  criteriaFor,
  joinNetwork,
  makeNetworkOf,
  openTestRespondingGateway,
  STATEMENT,
  THEIR_HOME,
} from '../support/network-members.ts';

/** As in the test of callers who flood (fairness.test.ts). */
const TURNS_MAX = 10;
const OTHER_HOME = '2.999.3';
const LIMIT = 3;

let gateway: TestGateway;
let account: TestAccount;
let other: TestAccount;
let network: Awaited<
  ReturnType<typeof makeNetworkOf<'ours' | 'theirs' | 'third'>>
>;
let ports: Awaited<ReturnType<typeof openTestRespondingGateway>>[];
/** Transactions that the ports have begun. */
let begun = 0;
const askers: ReturnType<typeof askerAt>[] = [];

beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  other = await gateway.addAccount();
  network = await makeNetworkOf('ours', 'theirs', 'third');
  // Members of a network must be known before the ports open.
  await joinNetwork(gateway, account.accountId, network.authority);
  ports = [await openPort(), await openPort()];
});
afterAll(async () => {
  for (const { client } of askers) await client.close();
  for (const port of ports) await port.close();
  await gateway.close();
});

/** A port whose transactions are counted, and those of the callers not. */
async function openPort() {
  const { store, blobs } = gateway;
  const counted: Store = {
    ...store,
    asAccount: (accountId, work) =>
      store.asAccount(accountId, (tx) => {
        begun += 1;
        return work(tx);
      }),
    asResponder: (accountId, work) =>
      store.asResponder(accountId, (tx) => {
        begun += 1;
        return work(tx);
      }),
    asSystem: (...of) => store.asSystem(...of),
  };
  return openTestRespondingGateway(
    { store: counted, blobs },
    network.members.ours,
  );
}

function askerOf(membership: string, name: 'theirs' | 'third', at = 0) {
  const homeCommunityId = name === 'theirs' ? THEIR_HOME : OTHER_HOME;
  const asker = askerAt(
    ports[at]?.addressOf(membership) ?? '',
    network.members[name],
    network.authority,
    { ...STATEMENT, homeCommunityId },
  );
  askers.push(asker);
  return asker;
}

const joined = (requestsPerMinute = 100_000) =>
  joinNetwork(gateway, account.accountId, network.authority, {
    requestsPerMinute,
    communities: [THEIR_HOME, OTHER_HOME].map((homeCommunity) => ({
      homeCommunity,
    })),
  });

test('a community is counted over all gateways and transactions, told to try later in the words of each, and no other community is', async () => {
  const membership = await joined(LIMIT);
  const asks = [0, 1].map((at) => askerOf(membership, 'theirs', at));
  const outcomes: string[] = [];
  for (let round = 0; round < 3; round += 1)
    for (const asker of asks) {
      const discovered = await asker.discover(criteriaFor(newPerson()));
      const [problem] = discovered.problems;
      outcomes.push(problem?.code ?? discovered.outcome);
      const { problems } = await asker.find('p1');
      outcomes.push(...problems.map(({ code }) => code));
      const retrieved = await asker.retrieve([
        { uniqueId: '2.25.1', repository: '2.999.1', homeCommunity: '2.999.1' },
      ]);
      outcomes.push(...retrieved.problems.map(({ code }) => code));
    }

  // A minute may begin meanwhile.
  const busy = outcomes.filter((each) => /Busy/.test(each));
  expect(outcomes).toHaveLength(18);
  expect(busy.length).toBeGreaterThanOrEqual(18 - 2 * LIMIT);
  expect(new Set(busy)).toEqual(
    new Set(['ResponderBusy', 'XDSRegistryBusy', 'XDSRepositoryBusy']),
  );
  const third = await askerOf(membership, 'third').find('p1');
  expect(third.problems.map(({ code }) => code)).toEqual([
    'XDSUnknownPatientId',
  ]);
});

test('a flood of one certificate has a few requests under way, keeps no other member out, and lets each transaction of a caller begin after a few of its own', async () => {
  const membership = await joined();
  const flooding = askerOf(membership, 'theirs');
  const quiet = askerOf(membership, 'third');
  const inTurn = gateway.store.asAccount;
  const begunMeanwhile: number[] = [];
  let isCaller = false;
  const watched = vi
    .spyOn(gateway.store, 'asAccount')
    .mockImplementation((accountId, work) => {
      if (!isCaller) return inTurn(accountId, work);
      const before = begun;
      return inTurn(accountId, (tx) => {
        begunMeanwhile.push(begun - before);
        return work(tx);
      });
    });
  let isOver = false;
  const counts = { answered: 0, refused: 0 };
  const flood = Array.from({ length: 40 }, async () => {
    while (!isOver)
      await flooding.find('p1').then(
        () => {
          counts.answered += 1;
        },
        (error: unknown) => {
          expect(error).toMatchObject({ status: 503 });
          counts.refused += 1;
        },
      );
  });
  await expect
    .poll(() => counts.answered, { timeout: 300_000 })
    .toBeGreaterThan(10);

  for (const caller of [account, other]) {
    isCaller = true;
    for (let at = 0; at < 5; at += 1) {
      const url = `patient?facilityId=${caller.facilityId}`;
      const created = await caller.call('POST', url, newPerson());
      expect(created.statusCode).toBe(201);
    }
    isCaller = false;
    expect(await quiet.find('p1')).toMatchObject({ outcome: 'failed' });
  }
  isOver = true;
  await Promise.all(flood);
  watched.mockRestore();

  expect(counts.refused).toBeGreaterThan(0);
  expect(begunMeanwhile.length).toBeGreaterThanOrEqual(10);
  expect(Math.max(...begunMeanwhile)).toBeLessThanOrEqual(TURNS_MAX);
});
