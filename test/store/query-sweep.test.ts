import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_SWEEP_PACE } from '../../src/contract/bulk-create-workflow.ts';
import { OvertakenError } from '../../src/exchange/platform/database/retry.ts';
import { countUse } from '../../src/exchange/platform/limits/limit-store.ts';
import { prepareQuery } from '../../src/exchange/queries/network-query/prepare.ts';
import { startPage } from '../../src/exchange/queries/sweep/start-page.ts';
import {
  openSweep,
  readSweepCounts,
  recentlyUnswept,
  sweepsToCheck,
  unsweptInSlice,
} from '../../src/exchange/queries/sweep/sweep-store.ts';
import {
  CALLBACK_KEY,
  createSweepEnvironment,
  numbers,
  type SweepEnvironment,
} from '../support/sweep-environment.ts';

let environment: SweepEnvironment;
beforeAll(async () => {
  environment = await createSweepEnvironment();
});
afterAll(() => environment.close());

describe('a page of a sweep', () => {
  test('starts the next patients in the order of the file, each once, as bulk queries of the hie', async () => {
    const panel = await environment.addPanel(7);
    const first = await environment.page(panel, { pageSize: 3 });
    const second = await environment.page(panel, { pageSize: 3 });
    const third = await environment.page(panel, { pageSize: 3 });
    expect([first, second, third].map((page) => page?.progress.state)).toEqual([
      'running',
      'running',
      'completed',
    ]);
    const queries = await environment.queriesOf(panel);
    expect(queries.map(({ patient }) => patient)).toEqual(numbers(7));
    expect(queries.map(({ id }) => id)).toEqual(
      [first, second, third].flatMap((page) => page?.queryIds ?? []),
    );
    expect(queries[0]).toMatchObject({
      origin: 'bulk',
      status: 'running',
      requested: [{ source: 'hie', realtime: false }],
      metadata: { 'bulk.requestId': panel.requestId },
    });
    expect(third?.progress).toMatchObject({
      patients: 7,
      started: 7,
      skipped: 0,
      failed: 0,
      open: 7,
    });
  });

  test('asks the sources of the account; who opted out of all that is left is skipped, the deleted too', async () => {
    const settings = { bulk: { sources: ['hie' as const, 'lab' as const] } };
    const both = await environment.addPanel(2, { settings, optedOut: [1] });
    await environment.page(both);
    expect(
      (await environment.queriesOf(both)).map(
        ({ requested }) => requested.length,
      ),
    ).toEqual([2, 1]);

    const onlyHie = await environment.addPanel(4, { optedOut: [0, 3] });
    await environment.store.asAccount(onlyHie.accountId, (tx) =>
      sql`delete from patient where id = ${onlyHie.patientIds[1]}`.execute(
        tx.db,
      ),
    );
    const page = await environment.page(onlyHie);
    expect(page?.progress).toMatchObject({
      state: 'completed',
      started: 1,
      skipped: 3,
    });
    expect(
      (await environment.queriesOf(onlyHie)).map(({ patient }) => patient),
    ).toEqual([2]);

    const notEnabled = await environment.addPanel(2, {
      settings: { sources: {} },
    });
    expect((await environment.page(notEnabled))?.progress).toMatchObject({
      state: 'completed',
      skipped: 2,
    });
  });

  test('does not ask a source that a consent of the patient excludes; who has none left is skipped', async () => {
    const settings = { bulk: { sources: ['hie' as const, 'lab' as const] } };
    const panel = await environment.addPanel(4, { settings });
    const deny = (of: number, sources: string[], end: string | null = null) =>
      environment.store.asAccount(panel.accountId, (tx) =>
        sql`insert into consent (id, account_id, patient_id, recorded_by, decision, sources, purposes, period_end, labels, resource)
          values (gen_random_uuid(), ${panel.accountId}, ${panel.patientIds[of]}, 'test', 'deny', ${sources}, '{}', ${end}, '{}', '{}')`.execute(
          tx.db,
        ),
      );
    await deny(0, ['hie']);
    await deny(1, []);
    await deny(2, ['hie'], '2020-01-01');
    expect((await environment.page(panel))?.progress).toMatchObject({
      started: 3,
      skipped: 1,
    });
    const asked = (await environment.queriesOf(panel)).map(
      ({ patient, requested }) => [
        patient,
        requested.map(({ source }) => source),
      ],
    );
    expect(asked).toEqual([
      [0, ['lab']],
      [2, ['hie', 'lab']],
      [3, ['hie', 'lab']],
    ]);
  });

  test('passes over many patients with nothing to ask at once, and stops at none who is to be asked', async () => {
    const count = 600;
    const toAsk = [0, 300, 599];
    const optedOut = numbers(count).filter((number) => !toAsk.includes(number));
    const panel = await environment.addPanel(count, { optedOut });
    let pages = 0;
    for (let state = 'running'; state === 'running'; pages += 1) {
      state =
        (await environment.page(panel, { pageSize: 10 }))?.progress.state ??
        'gone';
    }
    expect(pages).toBeLessThan(5);
    expect(
      (await environment.queriesOf(panel)).map(({ patient }) => patient),
    ).toEqual(toAsk);
    const counts = await environment.store.asAccount(panel.accountId, (tx) =>
      readSweepCounts(tx, panel.requestId),
    );
    expect(counts).toMatchObject({
      state: 'completed',
      started: 3,
      skipped: 597,
      failed: 0,
    });
  });

  test('keeps nobody waiting for the limits while it writes, and begins again when others have used them', async () => {
    await environment.untilEarlyInMinute();
    const panel = await environment.addPanel(5, {
      settings: { limits: { networkQueriesPerMinute: 10 } },
    });
    const queries = await environment.holdTable('network_query');
    const page = environment.page(panel);
    page.catch(() => undefined);
    await queries.isWaitedFor();
    const use = (uses: number) =>
      environment.store.asAccount(panel.accountId, (tx) =>
        countUse(tx, ['network-query/hie'], uses),
      );
    expect(await use(6)).toMatchObject([{ used: 6 }]);
    await queries.release();
    await expect(page).rejects.toThrow(OvertakenError);
    expect((await environment.page(panel))?.progress).toMatchObject({
      started: 1,
    });
    expect(await use(0)).toMatchObject([{ used: 7 }]);
  });

  test('keeps to its window, in which those that only wait for a source do not count', async () => {
    const panel = await environment.addPanel(20);
    const pace = { windowSize: 4, openMax: 9 };
    expect(await environment.page(panel, pace)).toMatchObject({
      progress: { started: 4, open: 4 },
      waitFor: { what: 'window' },
    });
    expect((await environment.page(panel, pace))?.queryIds).toEqual([]);
    await environment.endQueries(panel, 1);
    expect((await environment.page(panel, pace))?.queryIds).toHaveLength(1);
    // Their source has taken the request and will answer some day.
    await environment.store.asAccount(panel.accountId, (tx) =>
      sql`update network_query_attempt set job = '{}'`.execute(tx.db),
    );
    expect((await environment.page(panel, pace))?.progress).toMatchObject({
      started: 9,
      open: 8,
    });
    await environment.store.asAccount(panel.accountId, (tx) =>
      sql`update network_query_attempt set job = '{}'`.execute(tx.db),
    );
    expect((await environment.page(panel, pace))?.progress).toMatchObject({
      started: 10,
      open: 9,
    });
  });

  test('uses at most 72 % of a minute, counting what others have used, and waits for the next one', async () => {
    await environment.untilEarlyInMinute();
    const settings = { limits: { networkQueriesPerMinute: 10 } };
    const panel = await environment.addPanel(20, { settings });
    const [patientId = ''] = panel.patientIds;
    const query = (origin: 'interactive' | 'monitoring') =>
      environment.store.asAccount(panel.accountId, (tx) =>
        prepareQuery(
          tx,
          {
            account: {
              settings: { sources: { hie: { enabled: true } }, ...settings },
            },
            patient: { id: patientId, hieOptOut: false },
            request: { sources: [{ source: 'hie', realtime: false }] },
            purposeOfUse: 'treatment',
            origin,
          },
          CALLBACK_KEY,
        ),
      );
    await query('interactive');
    const page = await environment.page(panel);
    expect(page).toMatchObject({
      progress: { started: 6 },
      waitFor: { what: 'limit' },
    });
    expect((await environment.page(panel))?.queryIds).toEqual([]);
    // A follow-up goes first; the last fifth is left to people, however often
    // the sweep has asked.
    expect(
      [await query('monitoring'), await query('monitoring')].map(
        ({ run }) => run,
      ),
    ).toEqual([0, undefined]);
    expect(
      [await query('interactive'), await query('interactive')].map(
        ({ run }) => run,
      ),
    ).toEqual([0, 0]);
    await environment.nextMinute();
    expect((await environment.page(panel))?.progress).toMatchObject({
      started: 13,
    });
    const { rows } = await environment.store.asAccount(panel.accountId, (tx) =>
      sql<{
        used: number;
      }>`select used from rate_window where name = 'network-query/hie'`.execute(
        tx.db,
      ),
    );
    expect(rows).toEqual([{ used: 7 }]);
  });

  test('that is cut off before its commit has done nothing', async () => {
    const panel = await environment.addPanel(5);
    const cutOff = environment.store.asAccount(panel.accountId, async (tx) => {
      await openSweep(tx, panel.requestId);
      await startPage(
        tx,
        panel.requestId,
        { ...DEFAULT_SWEEP_PACE, pageSize: 3 },
        CALLBACK_KEY,
      );
      throw new Error('killed');
    });
    await expect(cutOff).rejects.toThrow('killed');
    expect(await environment.queriesOf(panel)).toEqual([]);
    expect((await environment.page(panel))?.progress).toMatchObject({
      state: 'completed',
      started: 5,
    });
  });

  test('and its twins at the same time start nobody twice', async () => {
    const panel = await environment.addPanel(30);
    await environment.page(panel, { pageSize: 1 });
    await Promise.all(
      numbers(6).map(() => environment.page(panel, { pageSize: 6 })),
    );
    const queries = await environment.queriesOf(panel);
    expect(queries.map(({ patient }) => patient).sort((a, b) => a - b)).toEqual(
      numbers(30),
    );
    const counts = await environment.store.asAccount(panel.accountId, (tx) =>
      readSweepCounts(tx, panel.requestId),
    );
    expect(counts).toMatchObject({ state: 'completed', started: 30, open: 30 });
  });
});

describe('left over', () => {
  const left = async () => {
    const found = await environment.store.asSystem(async (tx) => [
      ...(await recentlyUnswept(tx, 1_000)),
      ...(await unsweptInSlice(tx, { after: new Date(0), slice: 1_000 }))
        .unswept,
      ...(await sweepsToCheck(tx, {
        recheckBefore: new Date(Date.now() - 15 * 60_000),
        limit: 1_000,
      })),
    ]);
    return found.map(({ requestId }) => requestId);
  };

  test('is a completed bulk create without a sweep, and a sweep not heard of for a quarter of an hour', async () => {
    const panel = await environment.addPanel(3);
    const dry = await environment.addPanel(3, { dryRun: true });
    expect(await left()).toContain(panel.requestId);
    await environment.page(panel, { pageSize: 1 });
    expect(await left()).not.toContain(panel.requestId);
    await environment.store.asSystem((tx) =>
      sql`update bulk_sweep set seen_at = now() - interval '16 minutes'`.execute(
        tx.db,
      ),
    );
    expect(await left()).toContain(panel.requestId);
    await environment.page(panel);
    expect(await left()).not.toContain(panel.requestId);
    expect(await left()).not.toContain(dry.requestId);
  });

  test('is found after any time, slice by slice', async () => {
    const panels = [
      await environment.addPanel(1),
      await environment.addPanel(1),
      await environment.addPanel(1),
    ];
    const ids = panels.map(({ requestId }) => requestId);
    for (const [index, id] of ids.entries())
      await environment.store.asSystem((tx) =>
        sql`update bulk_request set ended_at = now() - ${40 - index} * interval '1 day' where id = ${id}`.execute(
          tx.db,
        ),
      );
    const seen: string[] = [];
    let after: Date | undefined = new Date(Date.now() - 41 * 24 * 60 * 60_000);
    for (let slices = 0; after !== undefined; slices++) {
      expect(slices).toBeLessThan(10);
      const from: Date = after;
      const slice = await environment.store.asSystem((tx) =>
        unsweptInSlice(tx, { after: from, slice: 1 }),
      );
      seen.push(...slice.unswept.map(({ requestId }) => requestId));
      after = slice.next;
    }
    expect([...new Set(seen)].filter((id) => ids.includes(id))).toEqual(ids);
  });
});
