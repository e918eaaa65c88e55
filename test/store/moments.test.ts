import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { describe, expect } from 'vitest';
import type { SourceStepInput } from '../../src/contract/network-query-workflow.ts';
import { createMoments } from '../../src/exchange/queries/network-query/moment.ts';
import { createSourceCallbacks } from '../../src/exchange/queries/network-query/source-callback.ts';
import type { SourceConnector } from '../../src/exchange/sources/connectors/connector.ts';
import { queryTest } from '../support/fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';
import { testKeyRing } from '../support/test-keys.ts';

const test = queryTest.extend('working', { scope: 'file' }, ({ account }) => {
  const signals: string[] = [];
  const temporal = {
    workflow: {
      getHandle: (id: string) => ({
        signal: async () => void signals.push(id),
      }),
    },
    withDeadline: (_until: number, call: () => Promise<unknown>) => call(),
  } as unknown as Client;
  const callbacks = createSourceCallbacks({
    store: account.store,
    temporal,
    logger: pino({ level: 'silent' }),
    callbackSecrets: {},
    keyRing: testKeyRing(),
    callbackKey: 'key',
  });

  const { pagesFrom } = sourceOf([page([observation('o1')])]);
  /** Accepts the request; its answer is ready when `isReady`. */
  const source = (
    isReady: () => boolean,
    rest: Partial<SourceConnector> = {},
  ) => ({
    begin: async () => ({ kind: 'accepted' as const, job: { id: 'job' } }),
    poll: async (job: Record<string, unknown>) =>
      isReady()
        ? { kind: 'ready' as const, pages: pagesFrom(0) }
        : { kind: 'pending' as const, job },
    ...rest,
  });
  return {
    signals,
    source,
    moments: () => createMoments(account.store),
    async query() {
      const patientId = await account.addPatient();
      return account.step(await account.addQuery(patientId, ['hie']), 'hie');
    },
    callBack: (step: SourceStepInput) => callbacks.announce(step),
    /** Resolves when a step waits for the answer of this attempt. */
    async untilAwaited({ requestId }: SourceStepInput): Promise<void> {
      await expect
        .poll(() =>
          account.inTx((tx) =>
            tx.db
              .selectFrom('network_query_attempt')
              .select('watched_until')
              .where('query_id', '=', requestId)
              .executeTakeFirst(),
          ),
        )
        .toMatchObject({ watched_until: expect.any(Date) });
    },
  };
});

describe('a source that works on its answer', () => {
  test('and calls back within a moment is asked and collected in one step, without a signal', async ({
    account,
    working,
  }) => {
    const step = await working.query();
    const activities = account.activities(
      working.source(() => true),
      { moments: working.moments() },
    );
    const asked = runActivity(activities.askSource, step);
    await working.untilAwaited(step);
    await working.callBack(step);
    expect(await asked).toMatchObject({ state: 'completed', resources: 1 });
    expect(working.signals).not.toContainEqual(
      expect.stringContaining(step.requestId),
    );
  });

  test('and wants to be asked again in a moment is, by the same step', async ({
    account,
    working,
  }) => {
    const step = await working.query();
    const activities = account.activities(
      working.source(() => true, {
        begin: async () => ({
          kind: 'accepted',
          job: { id: 'job' },
          retryAfterMs: 50,
        }),
      }),
      { moments: working.moments() },
    );
    expect(await runActivity(activities.askSource, step)).toMatchObject({
      state: 'completed',
    });
  });

  test('and calls back too early is waited for by the workflow, which its next callback signals', async ({
    account,
    working,
  }) => {
    const step = await working.query();
    const activities = account.activities(
      working.source(() => false),
      { moments: working.moments() },
    );
    const asked = runActivity(activities.askSource, step);
    await working.untilAwaited(step);
    await working.callBack(step);
    expect(await asked).toEqual({ state: 'waiting' });
    await working.callBack(step);
    await expect
      .poll(() => working.signals)
      .toContainEqual(expect.stringContaining(step.requestId));
  });

  test('and takes longer than a moment is left to the workflow, which its callback signals', async ({
    account,
    working,
  }) => {
    const step = await working.query();
    const activities = account.activities(
      working.source(() => false),
      { moments: working.moments() },
    );
    expect(await runActivity(activities.askSource, step)).toEqual({
      state: 'waiting',
    });
    await working.callBack(step);
    await expect
      .poll(() => working.signals)
      .toContainEqual(expect.stringContaining(step.requestId));
  });

  test('and calls back while the step is killed is collected when the step is repeated', async ({
    account,
    working,
  }) => {
    const step = await working.query();
    const activities = account.activities(
      working.source(() => true),
      { moments: working.moments() },
    );
    const killed = new MockActivityEnvironment();
    const asked = killed.run(activities.askSource, step);
    await working.untilAwaited(step);
    killed.cancel();
    await expect(asked).rejects.toThrow();
    await working.callBack(step);
    expect(working.signals).not.toContainEqual(
      expect.stringContaining(step.requestId),
    );
    expect(await runActivity(activities.askSource, step, 2)).toMatchObject({
      state: 'completed',
      resources: 1,
    });
  });

  test('does not keep others from being asked: only some steps wait, the rest leave it to the workflow', async ({
    account,
    working,
  }) => {
    const activities = account.activities(
      working.source(() => true),
      { moments: working.moments() },
    );
    const steps = await Promise.all(
      Array.from({ length: 12 }, () => working.query()),
    );
    let left = 0;
    const asked = steps.map(async (step) => {
      const end = await runActivity(activities.askSource, step);
      if (end.state === 'waiting') left += 1;
      return end;
    });
    await expect.poll(() => left).toBe(4);
    await Promise.all(steps.map((step) => working.callBack(step)));
    const ends = await Promise.all(asked);
    expect(ends.filter(({ state }) => state === 'completed')).toHaveLength(8);
  });
});
