import { v7 as uuidv7 } from 'uuid';
import { describe, expect, vi } from 'vitest';
import { runAdmin } from '../../src/exchange/operations/admin/program.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { readSweepRoom } from '../../src/exchange/queries/network-query/prepare.ts';
import { insertConnection } from '../../src/exchange/sources/connections/connection-store.ts';
import {
  type SourceConnector,
  SourceFailure,
  type SourceFailureKind,
} from '../../src/exchange/sources/connectors/connector.ts';
import { reportSources } from '../../src/exchange/sources/health/report.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { queryTest } from '../support/fixtures.ts';
import { closedGate } from '../support/gate.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';

const test = queryTest.extend(
  'querying',
  { scope: 'file' },
  async ({ environment, account }) => {
    /** A worker of its own, whose calls to the source are counted. */
    function worker(connector: Pick<SourceConnector, 'begin'>) {
      const counted = { calls: 0 };
      const { askSource } = account.activities(
        {
          begin: (...args) => {
            counted.calls += 1;
            return connector.begin(...args);
          },
        },
        { sourceHealth: createSourceHealth(environment.store) },
      );
      return {
        counted,
        ask: (requestId: string) =>
          runActivity(askSource, account.step(requestId, 'lab')),
      };
    }
    const refusing = (kind: SourceFailureKind) =>
      worker({
        begin: () =>
          Promise.reject(
            new SourceFailure(kind, 'lab answered 401 to the token request'),
          ),
      });
    const answering = () => worker(sourceOf([page([observation('a')])]));
    async function newQueries(count: number): Promise<string[]> {
      const patientId = await account.addPatient();
      const requestIds: string[] = [];
      for (let each = 0; each < count; each++)
        requestIds.push(await account.addQuery(patientId, ['lab']));
      return requestIds;
    }
    /** Five queries fail, one after the other: the breaker opens. */
    async function open(kind: SourceFailureKind = 'denied'): Promise<string[]> {
      const { ask } = refusing(kind);
      const requestIds = await newQueries(5);
      for (const requestId of requestIds)
        await ask(requestId).catch(() => undefined);
      return requestIds;
    }
    const lab = async () =>
      (await environment.store.asSystem(reportSources)).find(
        ({ source }) => source === 'lab',
      );
    /** Lets the next probe be due, as if its time had come. */
    const probeIsDue = () =>
      environment.store.asSystem((tx) =>
        tx.db
          .updateTable('source_connection')
          .set({ next_probe_at: new Date(0) })
          .execute(),
      );
    return {
      ...account,
      worker,
      refusing,
      answering,
      newQueries,
      open,
      lab,
      probeIsDue,
    };
  },
);

test.beforeEach(({ querying }) =>
  querying.store.asSystem((tx) =>
    tx.db.deleteFrom('source_connection').execute(),
  ),
);

describe('a source that refuses everybody', () => {
  test.for(['denied', 'transport'] as const)(
    '(%s) is called no more: new queries wait, and say why',
    async (kind, { querying }) => {
      await querying.open(kind);
      const source = querying.answering();
      const [requestId = ''] = await querying.newQueries(1);
      expect(await source.ask(requestId)).toMatchObject({
        state: 'waiting',
        held: { reason: 'lab answered 401 to the token request' },
      });
      expect(source.counted.calls).toBe(0);
      expect(await querying.view(requestId)).toMatchObject({
        status: 'running',
        attempts: [
          { waiting: { reason: 'lab answered 401 to the token request' } },
        ],
      });
      expect((await querying.timeline(requestId)).at(-1)).toMatchObject({
        kind: 'waiting',
        message: expect.stringMatching(
          /^Waiting for lab: .* \(for all queries; since .*\); next try at /,
        ),
      });
      expect(await querying.lab()).toMatchObject({
        state: 'open',
        waitingQueries: expect.any(Number),
      });
    },
  );

  test('gets one probe when it is due, from all workers together; its answer lets all others call', async ({
    querying,
  }) => {
    const [waiting = '', ...others] = await querying.open();
    await querying.probeIsDue();
    const gate = closedGate();
    const slow = () =>
      querying.worker({
        begin: async (...args) => {
          await gate.passed;
          return sourceOf([page([observation('a')])]).begin(...args);
        },
      });
    const workers = [slow(), slow(), slow()];
    const held: unknown[] = [];
    const asks = workers.map(async ({ ask }, index) => {
      const answer = await ask(others[index] ?? '');
      if (answer.state === 'waiting') held.push(answer);
      return answer;
    });
    await vi.waitFor(() => expect(held).toHaveLength(2), { timeout: 240_000 });
    gate.open();
    const answers = await Promise.all(asks);
    expect(workers.map(({ counted }) => counted.calls).sort()).toEqual([
      0, 0, 1,
    ]);
    expect(answers.filter(({ state }) => state === 'completed')).toHaveLength(
      1,
    );
    expect(await querying.lab()).toMatchObject({ state: 'ok' });
    expect(await querying.answering().ask(waiting)).toMatchObject({
      state: 'completed',
    });
  });

  test('stays closed to all when the probe fails', async ({ querying }) => {
    const [requestId = ''] = await querying.open();
    const before = await querying.lab();
    await querying.probeIsDue();
    await querying
      .refusing('denied')
      .ask(requestId)
      .catch(() => undefined);
    const after = await querying.lab();
    expect(after).toMatchObject({ state: 'open', since: before?.since });
    expect(Date.parse(after?.nextProbeAt ?? '')).toBeGreaterThan(Date.now());
  });

  test('gets no queries of sweeps and monitoring until a probe is due', async ({
    querying,
  }) => {
    const room = () =>
      querying.inTx((tx) => readSweepRoom(tx, {}, ['hie', 'lab']));
    expect(await room()).toMatchObject([{ isHeld: false }, { isHeld: false }]);
    await querying.open();
    const [hie, held] = await room();
    expect(hie).toMatchObject({ source: 'hie', isHeld: false });
    expect(held).toMatchObject({ source: 'lab', isHeld: true, room: 0 });
    expect(held?.resetMs).toBeGreaterThan(0);
    await querying.probeIsDue();
    expect(await room()).toMatchObject([{ isHeld: false }, { isHeld: false }]);
  });
});

describe('background work of an account with connections of its own', () => {
  const room = async (store: Store, of: string) =>
    (await store.asAccount(of, (tx) => readSweepRoom(tx, {}, ['lab']))).map(
      ({ isHeld }) => isHeld,
    );
  const connect = async (store: Store, of: string, enabled = true) => {
    const id = uuidv7();
    await store.asSystem((tx) =>
      insertConnection(tx, {
        id,
        accountId: of,
        source: 'lab',
        name: id,
        baseUrl: 'https://lab.example.org',
        settings: {},
        authKind: 'none',
        credentials: Buffer.from(''),
        namespace: `${id}~`,
        enabled,
      } as Parameters<typeof insertConnection>[1]),
    );
    return id;
  };
  const openBreakerOf = async (store: Store, connection: string) => {
    const health = createSourceHealth(store);
    for (let attempt = 0; attempt < 5; attempt += 1)
      await health.failed(connection, {
        attempt: String(attempt),
        reason: 'away',
      });
  };

  test('is held by the breakers of these, and not by that of the default connection', async ({
    querying,
  }) => {
    const { accountId: own } = await querying.addAccount();
    await openBreakerOf(querying.store, 'lab');
    expect(await room(querying.store, own)).toEqual([true]);
    const first = await connect(querying.store, own);
    expect(await room(querying.store, own)).toEqual([false]);
    expect(await room(querying.store, querying.accountId)).toEqual([true]);
    await openBreakerOf(querying.store, first);
    expect(await room(querying.store, own)).toEqual([true]);
    // One that works is enough.
    await connect(querying.store, own);
    expect(await room(querying.store, own)).toEqual([false]);
  });

  test('is held while an operator has paused all of them', async ({
    querying,
  }) => {
    const { accountId: own } = await querying.addAccount();
    await connect(querying.store, own, false);
    expect(await room(querying.store, own)).toEqual([true]);
  });
});

describe('a source that others use without trouble', () => {
  test('is called however often one query fails', async ({ querying }) => {
    const source = querying.refusing('transport');
    const [requestId = '', other = ''] = await querying.newQueries(2);
    for (let call = 0; call < 12; call++)
      await source.ask(requestId).catch(() => undefined);
    expect(source.counted.calls).toBe(12);
    expect(await querying.answering().ask(other)).toMatchObject({
      state: 'completed',
    });
    expect(await querying.lab()).toMatchObject({ state: 'ok' });
  });

  test.for(['refused', 'bad-answer', 'job-failed', 'rate-limited'] as const)(
    'is called after any number of %s: it answers',
    async (kind, { querying }) => {
      await querying.open(kind);
      expect(await querying.lab()).toMatchObject({ state: 'ok' });
    },
  );

  test('starts to count anew with each answer', async ({ querying }) => {
    const requestIds = await querying.newQueries(9);
    for (const [index, requestId] of requestIds.entries()) {
      const source =
        index === 4 ? querying.answering() : querying.refusing('transport');
      await source.ask(requestId).catch(() => undefined);
    }
    expect(await querying.lab()).toMatchObject({ state: 'failing' });
  });
});

describe('an operator', () => {
  const admin = async (store: Store, ...argv: string[]) => {
    const out: string[] = [];
    const err: string[] = [];
    const exitCode = await runAdmin([...argv, '--json'], {
      write: (text) => void out.push(text),
      writeError: (text) => void err.push(text),
      open: async () => ({
        store: { ...store, close: async () => undefined },
        openKeyRing: () => Promise.reject(new Error('not asked for here')),
        openAudit: () => Promise.reject(new Error('not asked for here')),
        openTemporal: () => Promise.reject(new Error('not asked for here')),
        openBlobs: () => Promise.reject(new Error('not asked for here')),
      }),
    });
    const text = out.join('');
    const document =
      text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
    return { exitCode, err: err.join(''), document };
  };
  const pause = (store: Store) =>
    admin(
      store,
      'sources',
      'pause',
      'lab',
      '--by',
      'R. Ortiz',
      '--reason',
      'maintenance',
    );

  test('pauses a source: no query calls it, whatever is due, until it is resumed', async ({
    querying,
  }) => {
    expect(await pause(querying.store)).toMatchObject({ exitCode: 0 });
    await querying.probeIsDue();
    const source = querying.answering();
    const [requestId = ''] = await querying.newQueries(1);
    const waits = await source.ask(requestId);
    expect(waits).toMatchObject({
      held: { reason: 'paused by an operator (maintenance)' },
      pausedMs: expect.any(Number),
    });
    // The next step adds its wait: the workflow's deadline moves by the sum.
    const { pausedMs = 0 } = (await source.ask(requestId)) as {
      pausedMs?: number;
    };
    expect(pausedMs).toBeGreaterThan((waits as { pausedMs: number }).pausedMs);
    expect(source.counted.calls).toBe(0);
    const { document } = await admin(querying.store, 'sources', 'list');
    expect(document).toMatchObject({
      sources: [
        { source: 'hie', state: 'ok' },
        { state: 'ok' },
        { state: 'paused', reason: 'maintenance', by: 'R. Ortiz' },
      ],
    });
    expect(
      await admin(querying.store, 'sources', 'resume', 'lab'),
    ).toMatchObject({ exitCode: 0 });
    expect(await querying.answering().ask(requestId)).toMatchObject({
      state: 'completed',
    });
    expect(
      await admin(querying.store, 'sources', 'resume', 'lab'),
    ).toMatchObject({ exitCode: 2 });
  });

  test('is in the audit of each account that the source serves', async ({
    querying,
  }) => {
    await pause(querying.store);
    const entries = await querying.inTx((tx) =>
      tx.db
        .selectFrom('audit_entry')
        .select(['actor', 'operation', 'target_id'])
        .execute(),
    );
    expect(entries).toContainEqual({
      actor: 'admin',
      operation: 'pauseSource',
      target_id: 'lab',
    });
  });

  test('who misspells a source learns its name', async ({ querying }) => {
    const { exitCode, err } = await admin(
      querying.store,
      'sources',
      'pause',
      'labs',
      '--by',
      'me',
      '--reason',
      'x',
    );
    expect(exitCode).toBe(2);
    expect(err).toBe(
      '"labs" is not a source; expected one of hie, pharmacy, lab\n',
    );
  });
});
