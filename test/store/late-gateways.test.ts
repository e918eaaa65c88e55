import { sql } from 'kysely';
import { pino } from 'pino';
import { describe, expect } from 'vitest';
import { lateGatewayRecovery } from '../../src/exchange/queries/network-query/feature.ts';
import { createSourceCallbacks } from '../../src/exchange/queries/network-query/source-callback.ts';
import { closedGate } from '../support/gate.ts';
import {
  found,
  later,
  nobody,
  gatewayTest as test,
} from '../support/gateway-network.ts';
import {
  CALLBACK_KEY,
  type QueryEnvironment,
} from '../support/network-query-environment.ts';
import { testKeyRing } from '../support/test-keys.ts';

/** Reconcile's rounds, and the signals that workflows get from them. */
function reconciling({ store }: QueryEnvironment) {
  const signals: unknown[] = [];
  let isTemporalAway = false;
  const handleOf = (workflowId: string) => ({
    signal: async (name: string, payload: unknown) => {
      if (isTemporalAway)
        throw Object.assign(new Error('UNAVAILABLE'), { code: 14 });
      signals.push([workflowId, name, payload]);
    },
  });
  const sourceCallbacks = createSourceCallbacks({
    store,
    temporal: {
      withDeadline: (_at: number, work: () => Promise<void>) => work(),
      workflow: { getHandle: handleOf },
    } as never,
    logger: pino({ level: 'silent' }),
    callbackSecrets: {},
    keyRing: testKeyRing(),
    callbackKey: CALLBACK_KEY,
  });
  const recovery = lateGatewayRecovery({ store, sourceCallbacks });
  return {
    signals,
    loseTemporal: (isAway: boolean) => {
      isTemporalAway = isAway;
    },
    round: () =>
      recovery.takeUp({
        limit: 100,
        signal: new AbortController().signal,
        recheckBefore: new Date(0),
      }),
    /** Everything about the query was so many minutes earlier. */
    elapse: (requestId: string, minutes: number) =>
      store.asSystem(async (tx) => {
        const earlier = sql`make_interval(mins => ${minutes})`;
        await sql`update gateway_ask set next_try_at = next_try_at - ${earlier} where query_id = ${requestId}`.execute(
          tx.db,
        );
        await sql`update network_query_attempt set gateways_chosen_at = gateways_chosen_at - ${earlier},
          gateway_step_at = gateway_step_at - ${earlier} where query_id = ${requestId}`.execute(
          tx.db,
        );
      }),
  };
}

describe('gateways that are due, and that no step comes to', () => {
  test('get a step when the signal of a later answer was lost, and one signal at a time', async ({
    network,
    environment,
  }) => {
    const { does, newQuery } = await network.newNetwork(3);
    does(later, 1);
    const query = await newQuery();
    const { requestId } = query;
    await query.ask();
    await query.collect();
    const { round, signals, elapse } = reconciling(environment);
    await elapse(requestId, 60);
    expect(await round()).toMatchObject({ found: 0 });

    // The workflow is to be signalled, and is not.
    expect(await query.answer(1)).toBe('tell');
    expect(await round()).toMatchObject({ found: 0 });
    await elapse(requestId, 6);
    expect(await round()).toMatchObject({ found: 1, healed: 1, failures: [] });
    const expected = [
      expect.stringContaining(requestId),
      'sourceCallback',
      { source: 'hie', attempt: 1 },
    ];
    expect(signals).toEqual([expected]);
    await elapse(requestId, 4);
    expect(await round()).toMatchObject({ found: 0 });
    await elapse(requestId, 2);
    expect(await round()).toMatchObject({ found: 1 });
    expect(signals).toEqual([expected, expected]);

    does(found, 1);
    expect(await query.collect()).toMatchObject({ state: 'completed' });
    await elapse(requestId, 60);
    expect(await round()).toMatchObject({ found: 0 });
  });

  test('get a step when the first one never began', async ({
    network,
    environment,
  }) => {
    const { newQuery } = await network.newNetwork(2);
    const query = await newQuery();
    await query.ask();
    const { round, signals, elapse } = reconciling(environment);
    await elapse(query.requestId, 4);
    expect(await round()).toMatchObject({ found: 0 });
    await elapse(query.requestId, 2);
    expect(await round()).toMatchObject({ found: 1, healed: 1 });
    expect(signals).toHaveLength(1);
    await query.collect();
  });

  test('are left to the step that asks them', async ({
    network,
    environment,
  }) => {
    const { does, newQuery } = await network.newNetwork(1);
    const reached = closedGate();
    const gate = closedGate();
    does(async (signal) => {
      reached.open();
      await gate.passed;
      return nobody(signal);
    }, 1);
    const query = await newQuery();
    await query.ask();
    const { round, signals, elapse } = reconciling(environment);
    const step = query.collect().catch((error: unknown) => error);
    await reached.passed;
    await elapse(query.requestId, 60);
    expect(await round()).toMatchObject({ found: 0 });
    gate.open();
    await step;
    expect(signals).toEqual([]);
    await query.fail();
  });

  test('are signalled again when Temporal has not taken the signal', async ({
    network,
    environment,
  }) => {
    const { newQuery } = await network.newNetwork(1);
    const query = await newQuery();
    await query.ask();
    const { round, signals, elapse, loseTemporal } = reconciling(environment);
    await elapse(query.requestId, 6);
    loseTemporal(true);
    expect(await round()).toMatchObject({ found: 1, healed: 0 });
    loseTemporal(false);
    expect(await round()).toMatchObject({ found: 1, healed: 1 });
    expect(signals).toHaveLength(1);
    await query.collect();
  });
});
