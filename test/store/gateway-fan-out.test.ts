import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { membersOf } from '../../src/exchange/platform/database/columns.ts';
import type { AccountTx } from '../../src/exchange/platform/database/database.ts';
import {
  listGateways,
  QUERY_GATEWAY_ORDER,
} from '../../src/exchange/queries/network-query/fan-out/list-gateways.ts';
import { readOpenAsks } from '../../src/exchange/queries/network-query/fan-out/open-asks.ts';
import {
  completenessLines,
  completenessMeta,
  incompleteness,
  readRecordCompleteness,
} from '../../src/exchange/records/reading/completeness.ts';
import { rememberGateways } from '../../src/exchange/sources/connections/gateway-store.ts';
import {
  pauseConnection,
  resumeConnection,
} from '../../src/exchange/sources/health/source-health.ts';
import { oidOf } from '../support/directory-entries.ts';
import { closedGate } from '../support/gate.ts';
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

const rowsOfGateways = async (tx: AccountTx) => {
  const rows = await tx.db
    .selectFrom('network_gateway')
    .selectAll()
    .orderBy('home_community')
    .execute();
  return rows.map(membersOf);
};

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
      note: expect.stringContaining(
        '3 of 300 gateways could not be asked: Organization 3, Organization 4, Organization 5 (2: it did not answer within 0.5 s; 1: hie refuses this)',
      ),
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

    const list = (state?: 'found' | 'failed') =>
      query.inTx((tx) =>
        listGateways(
          tx,
          { requestId: query.requestId, state },
          { sort: QUERY_GATEWAY_ORDER.default, count: 2 },
        ),
      );
    expect((await list()).total).toBe(300);
    const { items } = await list('found');
    expect(items).toHaveLength(2);
    expect(items).toContainEqual(
      expect.objectContaining({
        connection: 'Network',
        homeCommunity: oidOf(200),
        name: 'Organization 200',
        because: 'near',
        tries: 1,
      }),
    );
    expect((await list('failed')).total).toBe(3);
  });

  test('says in the completeness of the record how many organizations were asked, and what they answered', async ({
    network,
  }) => {
    const { does, newQuery, patientId } = await network.newNetwork(1_200);
    const numbers = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) => from + index);
    does(found, 7, 200);
    does(refuses, ...numbers(300, 350));
    does(later, 400, 401);
    const query = await newQuery();
    const standing = () =>
      query.inTx((tx) => readRecordCompleteness(tx, patientId));
    const line = async () => completenessLines(await standing())[0];
    await query.ask();
    expect(await line()).toContain(
      '1,200 organizations were asked: 1,200 have not answered yet; 0 resources',
    );

    await query.collect();
    expect(await line()).toContain(
      '; 1,200 organizations were asked: 2 had records, 1,146 did not know the patient, 50 failed to answer, 2 have not answered yet; ',
    );
    expect(incompleteness(await standing())).toContain(
      '(2 of 1,200 organizations have not answered yet)',
    );

    await query.answer(400);
    await query.answer(401);
    does(nobody, 400, 401);
    expect(await query.collect()).toMatchObject({ state: 'completed' });
    const ended = await standing();
    expect(await line()).toContain(
      '2 had records, 1,148 did not know the patient, 50 failed to answer; 2 resources',
    );
    expect(await line()).toContain(
      '50 of 1200 gateways could not be asked: Organization 300, Organization 301, Organization 302, Organization 303, Organization 304 and 45 more (50: hie refuses this)',
    );
    expect(incompleteness(ended)).toBe(
      'This record is incomplete: HIE could not deliver everything (50 of 1,200 organizations failed to answer).',
    );
    expect(JSON.stringify(completenessMeta(ended))).toContain(
      '{"url":"organizationsFailed","valueUnsignedInt":50}',
    );

    // Those that had records, and those that failed, are asked again.
    const second = await newQuery();
    expect(await line()).toContain('1,200 organizations were asked');
    await second.ask();
    does(nobody, ...numbers(300, 350));
    await second.collect();
    expect(await line()).toContain(
      '; 52 organizations were asked: 2 had records, 50 did not know the patient; ',
    );
    expect(incompleteness(await standing())).toBeUndefined();
  });

  test('asks no more gateways at a time than a step may', async ({
    network,
  }) => {
    const { does, asked, newQuery } = await network.newNetwork(600);
    let inFlight = 0;
    let most = 0;
    const takesAWhile: Behaviour = async (signal) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await delay(20);
      inFlight -= 1;
      return nobody(signal);
    };
    does(takesAWhile, ...Array.from({ length: 600 }, (_, index) => index + 1));
    const query = await newQuery();
    await query.ask();
    expect(await query.collect()).toMatchObject({ state: 'completed' });
    expect(asked).toHaveLength(600);
    expect(most).toBeLessThanOrEqual(128);
  });

  test('begins beside another query that has just chosen the same gateways', async ({
    network,
  }) => {
    const { newQuery } = await network.newNetwork(100);
    const first = await newQuery();
    await first.ask();
    const isEnough = closedGate();
    const hasChosen = closedGate();
    const other = first.inTx(async (tx) => {
      const gateways = await rowsOfGateways(tx);
      const connectionId = gateways[0]?.connectionId ?? '';
      expect(await rememberGateways(tx, connectionId, gateways)).toEqual(
        gateways,
      );
      hasChosen.open();
      await isEnough.passed;
    });
    await hasChosen.passed;

    const second = await newQuery();
    expect(await second.ask()).toMatchObject({ asksGateways: true });
    isEnough.open();
    await other;
    await Promise.all([first.fail(), second.fail()]);
  });

  test('keeps the id of a gateway that has moved, and asks it where it is now', async ({
    network,
  }) => {
    const { newQuery } = await network.newNetwork(3);
    const query = await newQuery();
    await query.ask();
    await query.inTx(async (tx) => {
      const gateways = await rowsOfGateways(tx);
      const connectionId = gateways[0]?.connectionId ?? '';
      const moved = gateways.map((each, index) =>
        index === 1 ? { ...each, discoveryUrl: 'https://new.example/' } : each,
      );
      expect(await rememberGateways(tx, connectionId, moved)).toEqual(moved);
      expect(await rowsOfGateways(tx)).toEqual(moved);
    });
    await query.fail();
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
      '2 of 2 gateways could not be asked: Organization 1, Organization 2 (2: hie refuses this)',
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
    environment,
  }) => {
    const { does, newQuery } = await network.newNetwork(4);
    does(later, 1, 2, 3);
    const query = await newQuery();
    await query.ask();
    expect(await query.collect()).toMatchObject({
      state: 'waiting',
      hasEndedPart: true,
    });
    const { store } = environment;
    expect(await readOpenAsks(store)).toMatchObject({ waiting: 3, late: 0 });
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

  test('ends the gateways that were being asked each time the process ended, and asks the others', async ({
    network,
  }) => {
    const { asked, newQuery } = await network.newNetwork(4);
    const query = await newQuery();
    await query.ask();
    // Five workers have claimed these two, and ended.
    await query.inTx(async (tx) => {
      await sql`update gateway_ask set claimed_step = 5, tries = 5
        where query_id = ${query.requestId} and home_community = any(${[oidOf(2), oidOf(3)]})`.execute(
        tx.db,
      );
      await sql`update network_query_attempt set gateway_step = 5 where query_id = ${query.requestId}`.execute(
        tx.db,
      );
      await sql`insert into activity_start (account_id, work, progress, starts, processes)
        values (${tx.accountId}, ${`gateways/${query.requestId}/hie/1`}, '0', 5, '{a,b,c,d,e}')`.execute(
        tx.db,
      );
    });
    await expect(query.collect()).rejects.toThrow('stored');
    expect(asked).toEqual([]);
    expect(await query.collect()).toMatchObject({
      state: 'completed',
      note: expect.stringContaining(
        '2 of 4 gateways could not be asked: Organization 2, Organization 3 (2: The exchange stopped unexpectedly 5 times at this point',
      ),
    });
    expect(await query.states()).toEqual({ nobody: [1, 4], failed: [2, 3] });
    expect(asked).toHaveLength(2);
  });

  test('takes an answer that came in time although it could not be written at once', async ({
    network,
    environment,
  }) => {
    const { does, newQuery } = await network.newNetwork(2);
    does(found, 1);
    const query = await newQuery();
    await query.ask();
    let isAway = false;
    const { store } = environment;
    const asAccount: typeof store.asAccount = async (...args) => {
      if (isAway) throw new Error('timeout exceeded when trying to connect');
      return store.asAccount(...args);
    };
    does(async (signal) => {
      isAway = true;
      // Longer than the gateway has to answer.
      setTimeout(() => {
        isAway = false;
      }, 1_500);
      return found(signal);
    }, 1);
    expect(
      await query.collect({ store: { ...store, asAccount } }),
    ).toMatchObject({ state: 'completed', resources: 1 });
    expect(await query.states()).toEqual({ found: [1], nobody: [2] });
  });

  test('leaves out a gateway that an operator has paused, and asks it in the next query', async ({
    network,
    environment,
  }) => {
    const { does, asked, newQuery } = await network.newNetwork(3);
    does(found, 2);
    const first = await newQuery();
    await first.ask();
    const [paused] = await first.inTx((tx) =>
      tx.db
        .selectFrom('gateway_ask')
        .select('gateway_id')
        .where('query_id', '=', first.requestId)
        .where('home_community', '=', oidOf(2))
        .execute(),
    );
    const gatewayId = paused?.gateway_id ?? '';
    const by = { by: 'operator', reason: 'their certificate is wrong' };
    await environment.store.asSystem((tx) =>
      pauseConnection(tx, gatewayId, by),
    );
    expect(await first.collect()).toMatchObject({
      state: 'completed',
      note: expect.stringContaining('their certificate is wrong'),
    });
    expect(await first.states()).toEqual({ nobody: [1, 3], failed: [2] });
    expect(asked).not.toContain(oidOf(2));

    await environment.store.asSystem((tx) => resumeConnection(tx, gatewayId));
    const second = await newQuery();
    await second.ask();
    expect(await second.collect()).toMatchObject({ resources: 1 });
    expect(await second.states()).toEqual({ found: [2] });
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
