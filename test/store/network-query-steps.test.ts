import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import fc from 'fast-check';
import type { FhirResource } from 'fhir/r4.js';
import { sql } from 'kysely';
import { describe, expect, vi } from 'vitest';
import { repeatedLook } from '../../src/activities/exchange/network-query.ts';
import {
  MERGE_FAILED,
  SOURCE_FAILURE_TYPES,
  type SourceStepInput,
} from '../../src/contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import { listDocuments } from '../../src/exchange/delivery/documents/document-store.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { abandonedJobCancellation } from '../../src/exchange/queries/network-query/abandoned-jobs.ts';
import {
  completeAttempt,
  failAttempt,
  failOpenAttempts,
} from '../../src/exchange/queries/network-query/endings.ts';
import { upsertResources } from '../../src/exchange/records/deliveries/delivery-store.ts';
import { readRecordCompleteness } from '../../src/exchange/records/reading/completeness.ts';
import type { RecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import {
  type SourceConnector,
  SourceFailure,
  type SourceFailureKind,
  type SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';
import { queryTest } from '../support/fixtures.ts';
import { closedGate } from '../support/gate.ts';
import {
  type QueryAccount,
  runActivity,
} from '../support/network-query-environment.ts';
import { anyCharacter, propertyOf } from '../support/property.ts';
import { runAdminOn } from '../support/run-admin.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';
import { takeUp } from '../support/take-up.ts';

const test = queryTest.extend('querying', { scope: 'file' }, ({ account }) => {
  async function begin(sources: readonly SourceType[] = ['hie']) {
    const patientId = await account.addPatient();
    const requestId = await account.addQuery(patientId, sources);
    return {
      patientId,
      requestId,
      step: account.step(requestId, sources[0] ?? 'hie'),
    };
  }
  const optOut = (patientId: string) =>
    account.inTx((tx) =>
      tx.db
        .updateTable('patient')
        .set({ hie_opt_out: true })
        .where('id', '=', patientId)
        .execute(),
    );
  const failing = (kind: SourceFailureKind, retryAfterMs?: number) =>
    account.activities({
      begin: () =>
        Promise.reject(
          new SourceFailure(kind, `lab answered badly (${kind})`, {
            retryAfterMs,
          }),
        ),
    });
  const away = (kind: SourceFailureKind) =>
    account.activities({
      begin: () => Promise.reject(new SourceFailure(kind, 'lab is away')),
    });
  const kept = (patientId: string) =>
    account.inTx((tx) =>
      tx.db
        .selectFrom('delivered_resource')
        .select(['source_id', 'content', 'document_id', 'collected_at'])
        .where('patient_id', '=', patientId)
        .orderBy('source_id')
        .execute(),
    );
  const collect = async (patientId: string, pages: SourcePage[]) => {
    const requestId = await account.addQuery(patientId, ['lab']);
    const step = account.step(requestId, 'lab');
    return runActivity(account.activities(sourceOf(pages)).askSource, step);
  };
  return { ...account, begin, optOut, failing, away, kept, collect };
});
const failureOf = async (
  work: Promise<unknown>,
): Promise<ApplicationFailure> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApplicationFailure))
    throw new Error('it did not fail as expected', { cause: error });
  return error;
};

test('what went otherwise when the source was asked is in the timeline once, however often the step runs', async ({
  querying,
}) => {
  const { requestId, step } = await querying.begin();
  const notice =
    'hie answered 500 to Patient/$match; the patient was searched for instead';
  const source = {
    begin: async () => ({
      kind: 'ready' as const,
      notice,
      pages: (async function* () {
        yield* [];
        throw new SourceFailure('transport', 'hie broke off');
      })(),
    }),
  };
  const { askSource } = querying.activities(source);
  await failureOf(runActivity(askSource, step));
  await failureOf(runActivity(askSource, step));
  const timeline = await querying.timeline(requestId);
  expect(
    timeline
      .filter(({ kind }) => kind === 'notice')
      .map(({ message }) => message),
  ).toEqual([notice]);
});

test('a candidate that was held back is listed once, decided by a person, and taken by the next query', async ({
  querying,
}) => {
  const { patientId, step } = await querying.begin();
  const seen: Array<Array<[string, boolean]>> = [];
  const held = {
    id: 'p7',
    grade: 'possible' as const,
    agrees: ['dob'],
    contradicts: [],
  };
  const source: Pick<SourceConnector, 'begin'> = {
    begin: async ({ review }) => {
      seen.push([...(review?.decided ?? [])]);
      // A server that returns a Patient twice.
      await review?.note([held, held]);
      throw new SourceFailure('refused', 'hie answered with another patient');
    },
  };
  const { askSource } = querying.activities(source);
  const candidates = (...argv: string[]) =>
    runAdminOn(querying.store, 'candidates', ...argv);
  const list = async (...more: string[]) =>
    (
      await candidates('list', '--account', querying.accountId, ...more)
    ).document.candidates.filter(
      (each: { patientId: string }) => each.patientId === patientId,
    );
  // It is listed though the query failed, and once, however often it is seen.
  await failureOf(runActivity(askSource, step));
  await failureOf(runActivity(askSource, step));
  const [candidate, ...others] = await list();
  expect(others).toEqual([]);
  expect(candidate).toMatchObject({
    source: 'hie',
    sourcePatientId: 'p7',
    agrees: ['dob'],
    status: 'open',
  });

  const statement = ['--by', 'Ada', '--reason', 'asked the patient'];
  expect(
    (await candidates('accept', candidate.id, ...statement)).exitCode,
  ).toBe(0);
  expect(await list()).toEqual([]);
  await failureOf(runActivity(askSource, step));
  expect(
    (await candidates('refuse', candidate.id, ...statement)).exitCode,
  ).toBe(0);
  await failureOf(runActivity(askSource, step));
  expect(seen).toEqual([[], [], [['p7', true]], [['p7', false]]]);
  expect(await list('--all')).toMatchObject([
    { id: candidate.id, status: 'refused' },
  ]);
  for (const other of [patientId, 'nonsense'])
    expect((await candidates('accept', other, ...statement)).exitCode).toBe(2);
  const audited = await querying.inTx((tx) =>
    tx.db
      .selectFrom('audit_entry')
      .select(['actor', 'operation', 'patient_id', 'details'])
      .where('target_id', '=', candidate.id)
      .orderBy('id')
      .execute(),
  );
  expect(audited).toEqual(
    ['acceptSourceCandidate', 'refuseSourceCandidate'].map((operation) => ({
      actor: 'admin',
      operation,
      patient_id: patientId,
      details: JSON.stringify({ by: 'Ada', reason: 'asked the patient' }),
    })),
  );
});

describe('another person under the id of the patient', () => {
  const patient = (rest: object): FhirResource => ({
    resourceType: 'Patient',
    id: 'p1',
    name: [{ family: 'Murazik', given: ['Tamica'] }],
    birthDate: '1980-04-01',
    gender: 'female',
    address: [{ postalCode: '02116' }],
    ...rest,
  });
  const stored = async (
    querying: Pick<QueryAccount, 'inTx'>,
    patientId: string,
  ) => {
    const rows = await querying.inTx((tx) =>
      tx.db
        .selectFrom('patient_resource')
        .select('source_id')
        .where('patient_id', '=', patientId)
        .orderBy('source_id')
        .execute(),
    );
    return rows.map(({ source_id }) => source_id);
  };

  test.for([
    ['gender', { gender: 'male' }],
    ['birth date', { birthDate: '1951-11-23' }],
  ] as const)(
    'of another %s is not filed, wherever in the answer it comes',
    async ([, other], { querying }) => {
      const { patientId, requestId, step } = await querying.begin();
      const earlier = querying.activities(
        sourceOf([page([patient({}), observation('before')])]),
      );
      await runActivity(earlier.askSource, step);

      const again = await querying.addQuery(patientId, ['hie']);
      const pages = [
        page([observation('theirs')]),
        page([patient(other), observation('more')]),
      ];
      const { askSource } = querying.activities(sourceOf(pages));
      const failure = await failureOf(
        runActivity(askSource, querying.step(again, 'hie')),
      );
      expect(failure).toMatchObject({
        type: SOURCE_FAILURE_TYPES.refused,
        nonRetryable: true,
      });
      expect(failure.message).toMatch(
        /^hie answered with another person under the id of the patient/,
      );
      expect(await stored(querying, patientId)).toEqual(['before', 'p1']);
      expect(await querying.outcome(requestId)).toMatchObject({
        status: 'completed',
      });

      const candidates = await querying.inTx((tx) =>
        tx.db
          .selectFrom('source_candidate')
          .select(['source_patient_id', 'status'])
          .where('patient_id', '=', patientId)
          .execute(),
      );
      expect(candidates).toEqual([{ source_patient_id: 'p1', status: 'open' }]);
    },
  );

  test('is taken once a person has decided that it is the patient', async ({
    querying,
  }) => {
    const { patientId, step } = await querying.begin();
    const source = sourceOf([page([patient({ birthDate: '1980-01-04' })])]);
    const { askSource } = querying.activities(source);
    await failureOf(runActivity(askSource, step));
    expect(await stored(querying, patientId)).toEqual([]);

    await querying.inTx((tx) =>
      tx.db
        .updateTable('source_candidate')
        .set({ status: 'accepted' })
        .where('patient_id', '=', patientId)
        .execute(),
    );
    await runActivity(askSource, step);
    expect(await stored(querying, patientId)).toEqual(['p1']);
  });

  test('is not somebody who has another address, or of whom less is stated', async ({
    querying,
  }) => {
    const { patientId, step } = await querying.begin();
    const bare = { address: [{ postalCode: '99501' }], gender: undefined };
    const { askSource } = querying.activities(
      sourceOf([page([patient(bare)])]),
    );
    await runActivity(askSource, step);
    expect(await stored(querying, patientId)).toEqual(['p1']);
  });
});

describe('a consent that is withdrawn while a query runs', () => {
  const REASON =
    'A consent of the patient excludes the hie source; nothing more is collected for this query';

  test('keeps a late answer from being collected, and the source is told to stop', async ({
    querying,
  }) => {
    const { patientId, requestId, step } = await querying.begin();
    const cancelled: unknown[] = [];
    const polled: unknown[] = [];
    const source = {
      begin: async () => ({ kind: 'accepted' as const, job: { url: 'job-8' } }),
      poll: async (job: unknown) => {
        polled.push(job);
        return { kind: 'pending' as const, job: { url: 'job-8' } };
      },
      cancel: async (job: unknown) => void cancelled.push(job),
    };
    const { askSource, collectSource, recordFailedAttempt } =
      querying.activities(source);
    await runActivity(askSource, step);
    await querying.optOut(patientId);
    const failure = await failureOf(runActivity(collectSource, step));
    expect(failure).toMatchObject({
      type: SOURCE_FAILURE_TYPES.refused,
      nonRetryable: true,
      message: REASON,
    });
    expect({ cancelled, polled }).toEqual({
      cancelled: [{ url: 'job-8' }],
      polled: [],
    });
    await runActivity(recordFailedAttempt, {
      ...step,
      reason: REASON,
      abandoned: false,
    });
    expect(await querying.outcome(requestId)).toMatchObject({
      status: 'failed',
      attempts: [{ resources: 0 }],
    });
  });

  test('keeps the source from being asked, also for a further attempt', async ({
    querying,
  }) => {
    const { patientId, step } = await querying.begin();
    await querying.optOut(patientId);
    let calls = 0;
    const source = {
      begin: async () => Promise.reject(new Error(`call ${++calls}`)),
    };
    const failure = await failureOf(
      runActivity(querying.activities(source).askSource, {
        ...step,
        attempt: 2,
      }),
    );
    expect([failure.message, calls]).toEqual([REASON, 0]);
  });
});

describe('the end of an attempt', () => {
  test('gives the right status and one event each, however three sources end at once', async ({
    querying,
  }) => {
    const orders = Array.from({ length: 40 }, (_, index) => index);
    const ends = ['completed', 'failed'] as const;
    for (const index of orders) {
      const { requestId } = await querying.begin(SOURCE_TYPES);
      const planned = SOURCE_TYPES.map((source, bit) => ({
        source,
        end: ends[(index >> bit) & 1],
      }));
      const { collect, record } = {
        collect: querying.activities(
          sourceOf([page([observation('x')], { misattributedCount: 1 })]),
        ),
        record: querying.activities({}),
      };
      await Promise.all(
        planned.map(({ source, end }) => {
          const step = querying.step(requestId, source);
          return end === 'completed'
            ? runActivity(collect.askSource, step)
            : runActivity(record.recordFailedAttempt, {
                ...step,
                reason: 'refused',
                abandoned: false,
              });
        }),
      );
      const completed = planned.filter(({ end }) => end === 'completed').length;
      const { status, events, told } = await querying.outcome(requestId);
      expect(status).toBe(
        completed === 3 ? 'completed' : completed === 0 ? 'failed' : 'partial',
      );
      expect(events).toHaveLength(3);
      expect(
        told.filter((line) => line.startsWith('query-ended')),
      ).toHaveLength(1);
    }
  });

  test('is told once when the step that writes it runs twice, also with a further attempt due', async ({
    querying,
  }) => {
    const { requestId, step } = await querying.begin();
    const { recordFailedAttempt } = querying.activities({});
    const failed = {
      ...step,
      reason: 'hie answered with HTML',
      abandoned: false,
    };
    await runActivity(recordFailedAttempt, { ...failed, retryAfterMs: 5_000 });
    await runActivity(recordFailedAttempt, { ...failed, retryAfterMs: 5_000 });
    const due = await querying.outcome(requestId);
    expect(due).toMatchObject({
      status: 'running',
      events: [],
      attempts: [{ will_retry: true }],
    });
    expect(due.told.filter((line) => line.startsWith('failed'))).toHaveLength(
      1,
    );

    await runActivity(recordFailedAttempt, {
      ...failed,
      reason: 'Given up on request',
    });
    await runActivity(recordFailedAttempt, {
      ...failed,
      reason: 'Given up on request',
    });
    const givenUp = await querying.outcome(requestId);
    expect(givenUp).toMatchObject({
      status: 'failed',
      attempts: [{ status: 'failed', will_retry: false }],
    });
    expect(givenUp.events).toHaveLength(1);
    expect(
      givenUp.told.filter((line) => line.startsWith('failed')),
    ).toHaveLength(2);
  });

  test('stands: a failed attempt that waits for its repetition is not completed any more', async ({
    querying,
  }) => {
    const { requestId, step } = await querying.begin();
    await querying.inTx(async (tx) => {
      await failAttempt(tx, step, {
        reason: 'bad answer',
        retryAfterMs: 5_000,
      });
      expect(await completeAttempt(tx, step, { note: 'late' })).toBeUndefined();
    });
    expect(await querying.outcome(requestId)).toMatchObject({
      status: 'running',
      attempts: [{ status: 'failed' }],
    });
  });

  describe('of an attempt whose job is abandoned', () => {
    /**
     * A source that accepts a job and acknowledges cancellations only when it
     * is up.
     */
    function stubborn(store: Store, url: string) {
      const source = { isUp: false, cancelled: [] as unknown[] };
      const connector = {
        ...sourceOf([]),
        begin: async () => ({ kind: 'accepted' as const, job: { url } }),
        cancel: async (job: unknown) => {
          source.cancelled.push(job);
          if (!source.isUp) throw new SourceFailure('transport', 'no answer');
        },
      };
      const asked = connector as Partial<SourceConnector> as SourceConnector;
      const cancelling = abandonedJobCancellation({
        store,
        connectors: { hie: asked, pharmacy: asked, lab: asked },
      });
      /** One round of reconcile, so much later. */
      const later = async (minutes: number) => {
        await store.asSystem((tx) =>
          sql`update abandoned_job set noted_at = noted_at - make_interval(mins => ${minutes}),
            tried_at = tried_at - make_interval(mins => ${minutes})`.execute(
            tx.db,
          ),
        );
        return takeUp(cancelling);
      };
      return { source, connector, later };
    }
    const job = (url: string) => ({ url });

    test('cancels the job at the source, goes on when that fails, and cancels again until the source acknowledges', async ({
      querying,
    }) => {
      const { step } = await querying.begin();
      const { source, connector, later } = stubborn(querying.store, 'job-7');
      const { askSource, recordFailedAttempt } = querying.activities(connector);
      await runActivity(askSource, step);
      const failed = {
        ...step,
        reason: 'No answer within 2 days',
        abandoned: true,
      };
      await runActivity(recordFailedAttempt, failed);
      expect(source.cancelled).toEqual([job('job-7')]);
      expect(await querying.outcome(step.requestId)).toMatchObject({
        status: 'failed',
      });
      expect(await later(9)).toBe(0);
      expect(source.cancelled).toHaveLength(1);
      expect(await later(2)).toBe(0);
      source.isUp = true;
      expect(await later(11)).toBe(1);
      expect(await later(11)).toBe(0);
      expect(source.cancelled).toEqual([
        job('job-7'),
        job('job-7'),
        job('job-7'),
      ]);
    });

    test('is cancelled by reconcile when the worker was killed before it could, or the workflow was terminated', async ({
      querying,
    }) => {
      const { step } = await querying.begin();
      const { source, connector, later } = stubborn(querying.store, 'job-9');
      source.isUp = true;
      await runActivity(querying.activities(connector).askSource, step);
      const reason = 'The workflow of this query ended unexpectedly';
      const of = { requestId: step.requestId, run: step.run };
      await querying.inTx((tx) => failOpenAttempts(tx, of, reason));
      expect(await later(0)).toBe(0);
      expect(source.cancelled).toEqual([]);
      expect(await later(2)).toBe(1);
      expect(source.cancelled).toEqual([job('job-9')]);
    });

    test('is cancelled when the source names it after the step was cancelled, however late', async ({
      querying,
    }) => {
      const { step } = await querying.begin();
      const asked = closedGate();
      const named = closedGate();
      const { source, connector } = stubborn(querying.store, 'job-8');
      source.isUp = true;
      const slow = {
        ...connector,
        begin: async () => {
          asked.open();
          await named.passed;
          return connector.begin();
        },
      };
      const running = new MockActivityEnvironment(
        {},
        { logger: new DefaultLogger('ERROR') },
      );
      const ended = running
        .run(querying.activities(slow).askSource, step)
        .catch((error: unknown) => error);
      await asked.passed;
      running.cancel();
      expect(await ended).toMatchObject({ name: 'CancelledFailure' });
      expect(source.cancelled).toEqual([]);
      named.open();
      await vi.waitFor(() => expect(source.cancelled).toEqual([job('job-8')]), {
        timeout: 240_000,
      });
    });
  });
});

describe('two steps on one attempt (one timed out and is still at it)', () => {
  /**
   * A source that waits before the page of this number until the test lets it
   * go on.
   */
  function heldPages(pages: SourcePage[], before = 0) {
    const asked = closedGate();
    const held = closedGate();
    const scripted = sourceOf(pages);
    async function* slowly() {
      let number = 0;
      for await (const each of scripted.pagesFrom(0)) {
        if (number++ === before) {
          asked.open();
          await held.passed;
        }
        yield each;
      }
    }
    return {
      asked: asked.passed,
      release: held.open,
      connector: {
        ...scripted,
        begin: async () => ({ kind: 'ready' as const, pages: slowly() }),
      },
    };
  }
  const pages = [
    page([observation('a')]),
    page([observation('b'), observation('c')]),
  ];

  test('keep each page once and count it once; the one that lost goes on from there', async ({
    querying,
  }) => {
    const { step } = await querying.begin();
    const late = heldPages(pages);
    const twin = runActivity(
      querying.activities(late.connector).askSource,
      step,
    );
    await late.asked;
    await runActivity(querying.activities(sourceOf(pages)).askSource, step);
    late.release();
    const failure = await failureOf(twin);
    expect(failure).toMatchObject({
      type: SOURCE_FAILURE_TYPES.superseded,
      nonRetryable: false,
    });
    const again = await runActivity(querying.activities({}).askSource, step, 2);
    expect(again).toEqual({ state: 'completed', resources: 3 });
    const { attempts, documents, events } = await querying.outcome(
      step.requestId,
    );
    expect(attempts).toMatchObject([{ pages: 2, resources: 3, documents: 0 }]);
    expect(documents).toHaveLength(2);
    expect(events).toHaveLength(2);
  });

  test('keep no page twice, though both began before the first was kept', async ({
    querying,
  }) => {
    const { step } = await querying.begin();
    const slow = heldPages(pages, 1);
    const slower = heldPages(pages, 0);
    const other = runActivity(
      querying.activities(slower.connector).askSource,
      step,
    );
    await slower.asked;
    const first = runActivity(
      querying.activities(slow.connector).askSource,
      step,
    );
    await vi.waitFor(
      async () =>
        expect(await querying.outcome(step.requestId)).toMatchObject({
          documents: [{}],
        }),
      {
        timeout: 240_000,
      },
    );
    slower.release();
    expect(await failureOf(other)).toMatchObject({
      type: SOURCE_FAILURE_TYPES.superseded,
    });
    slow.release();
    expect(await first).toEqual({ state: 'completed', resources: 3 });
    const { attempts, documents } = await querying.outcome(step.requestId);
    expect(attempts).toMatchObject([{ pages: 2, resources: 3, documents: 0 }]);
    expect(documents).toHaveLength(2);
  });

  test('leave one job at the source: the second one is cancelled there', async ({
    querying,
  }) => {
    const { step, requestId } = await querying.begin();
    const held = closedGate();
    const asked = closedGate();
    const cancelled: unknown[] = [];
    const accepting = (url: string, gate?: Promise<void>) =>
      querying.activities({
        begin: async () => {
          asked.open();
          await gate;
          return { kind: 'accepted', job: { url } };
        },
        cancel: async (job) => void cancelled.push(job),
      });
    const twin = runActivity(accepting('job-1', held.passed).askSource, step);
    await asked.passed;
    expect(await runActivity(accepting('job-2').askSource, step)).toEqual({
      state: 'waiting',
    });
    held.open();
    expect(await twin).toMatchObject({ state: 'waiting' });
    expect(cancelled).toEqual([{ url: 'job-1' }]);
    expect(
      (await querying.outcome(requestId)).told.filter((line) =>
        line.startsWith('accepted'),
      ),
    ).toHaveLength(1);
    const polled: unknown[] = [];
    const poll = async (job: Record<string, unknown>) => {
      polled.push(job);
      return { kind: 'pending' as const, job };
    };
    await runActivity(querying.activities({ poll }).collectSource, step);
    expect(polled).toEqual([{ url: 'job-2' }]);
  });

  test('leave no job at the source when the attempt was given up while it was asked', async ({
    querying,
  }) => {
    const { step } = await querying.begin();
    const held = closedGate();
    const asked = closedGate();
    const cancelled: unknown[] = [];
    const { askSource, recordFailedAttempt } = querying.activities({
      begin: async () => {
        asked.open();
        await held.passed;
        return { kind: 'accepted', job: { url: 'job-1' } };
      },
      cancel: async (job) => void cancelled.push(job),
    });
    const asking = runActivity(askSource, step);
    await asked.passed;
    await runActivity(recordFailedAttempt, {
      ...step,
      reason: 'Given up on request',
      abandoned: true,
    });
    held.open();
    await asking;
    expect(cancelled).toEqual([{ url: 'job-1' }]);
  });

  test('leave no job at the source when it was stored while the attempt was being given up', async ({
    querying,
  }) => {
    const { step } = await querying.begin();
    const cancelled: unknown[] = [];
    const { askSource, recordFailedAttempt } = querying.activities({
      begin: async () => ({ kind: 'accepted', job: { url: 'job-1' } }),
      cancel: async (job) => void cancelled.push(job),
    });
    const givingUp = await querying.inTx(async (tx) => {
      // Ending an attempt waits for this; storing a job does not.
      await sql`select from network_query where id = ${step.requestId} for no key update`.execute(
        tx.db,
      );
      const ending = runActivity(recordFailedAttempt, {
        ...step,
        reason: 'Given up',
        abandoned: true,
      });
      const blocked = sql`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;
      await vi.waitFor(
        async () => expect((await blocked.execute(tx.db)).rows).toHaveLength(1),
        {
          timeout: 240_000,
        },
      );
      await runActivity(askSource, step);
      return { ending };
    });
    await givingUp.ending;
    expect(cancelled).toEqual([{ url: 'job-1' }]);
  });

  test('keep nothing once the attempt was given up', async ({ querying }) => {
    const { step } = await querying.begin();
    const late = heldPages(pages);
    const { askSource, recordFailedAttempt } = querying.activities(
      late.connector,
    );
    const twin = runActivity(askSource, step);
    await late.asked;
    await runActivity(recordFailedAttempt, {
      ...step,
      reason: 'Given up on request',
      abandoned: false,
    });
    late.release();
    await failureOf(twin);
    const failure = await failureOf(runActivity(askSource, step, 2));
    expect(failure).toMatchObject({
      type: SOURCE_FAILURE_TYPES.superseded,
      nonRetryable: true,
    });
    const { status, resources, documents, attempts } = await querying.outcome(
      step.requestId,
    );
    expect({ status, resources, documents }).toEqual({
      status: 'failed',
      resources: [],
      documents: [],
    });
    expect(attempts).toMatchObject([
      { status: 'failed', pages: 0, resources: 0 },
    ]);
  });
});

describe('a further attempt', () => {
  test('is opened once, after the newest, whichever run opens it', async ({
    querying,
  }) => {
    const { step } = await querying.begin(['hie', 'lab']);
    const { recordFailedAttempt, openNextAttempt } = querying.activities({});
    await runActivity(recordFailedAttempt, {
      ...step,
      reason: 'refused',
      abandoned: false,
    });
    // A run that does not know the source counts from nothing.
    const other = { ...step, run: 1, attempt: 1 };
    expect(await runActivity(openNextAttempt, other)).toEqual({ attempt: 2 });
    expect(await runActivity(openNextAttempt, other)).toEqual({ attempt: 2 });
    const { attempts } = await querying.view(step.requestId);
    expect(attempts).toMatchObject([
      { source: 'hie', attempt: 1, status: 'failed' },
      { source: 'hie', attempt: 2, run: 1, status: 'running' },
      { source: 'lab', attempt: 1 },
    ]);
  });

  test('announces first data only once in a query', async ({ querying }) => {
    const { step, requestId } = await querying.begin();
    const first = page([observation('a')]);
    const second = page([observation('b')]);
    const broken = {
      begin: async () => ({
        kind: 'ready' as const,
        pages: (async function* () {
          yield { ...first, next: { page: 1 } };
          throw new SourceFailure('bad-answer', 'hie sent broken JSON');
        })(),
      }),
    };
    const { askSource, recordFailedAttempt } = querying.activities(broken);
    await failureOf(runActivity(askSource, step));
    await runActivity(recordFailedAttempt, {
      ...step,
      reason: 'x',
      abandoned: false,
      retryAfterMs: 1,
    });
    await runActivity(
      querying.activities(sourceOf([first, second])).askSource,
      { ...step, attempt: 2 },
    );
    const { events, status, attempts } = await querying.outcome(requestId);
    expect(events.map(({ fact_key }) => fact_key)).toEqual([
      `network-query.hie.first-data-ready/${requestId}`,
      `network-query.hie/${requestId}/2`,
    ]);
    expect(status).toBe('completed');
    expect(attempts).toMatchObject([
      { status: 'failed', will_retry: false, resources: 1 },
      { status: 'completed', resources: 2 },
    ]);
  });
});

describe('what a source says when it does not answer as asked', () => {
  test.for([
    ['transport', SOURCE_FAILURE_TYPES.transport, false],
    ['rate-limited', SOURCE_FAILURE_TYPES.rateLimited, false],
    ['denied', SOURCE_FAILURE_TYPES.denied, false],
    ['refused', SOURCE_FAILURE_TYPES.refused, true],
    ['bad-answer', SOURCE_FAILURE_TYPES.badAnswer, true],
    ['job-failed', SOURCE_FAILURE_TYPES.jobFailed, true],
  ] as const)(
    '%s has its type and is told in the timeline',
    async ([kind, type, nonRetryable], { querying }) => {
      const { step } = await querying.begin(['lab']);
      const failure = await failureOf(
        runActivity(querying.failing(kind).askSource, step),
      );
      expect(failure).toMatchObject({
        type,
        nonRetryable,
        message: `lab answered badly (${kind})`,
      });
      expect((await querying.outcome(step.requestId)).told).toContain(
        `call-failed: Call 1: lab answered badly (${kind})`,
      );
    },
  );

  test('its Retry-After is when the same call is made again', async ({
    querying,
  }) => {
    const { step } = await querying.begin(['lab']);
    const failure = await failureOf(
      runActivity(querying.failing('rate-limited', 7_000).askSource, step),
    );
    expect(failure.nextRetryDelay).toBe(7_000);
    expect((await querying.outcome(step.requestId)).told).toContain(
      'call-failed: Call 1: lab answered badly (rate-limited); asked to wait 7 s',
    );
  });

  test('our own faults are no calls to the source: Temporal may have counted a hundred', async ({
    querying,
  }) => {
    const { step, requestId } = await querying.begin(['lab']);
    const broken = querying.activities({
      begin: () => Promise.reject(new Error('the database is away')),
    });
    await expect(runActivity(broken.askSource, step, 99)).rejects.toThrow(
      'the database is away',
    );
    const failure = await failureOf(
      runActivity(querying.failing('transport').askSource, step, 100),
    );
    expect(failure.nonRetryable).toBe(false);
    expect((await querying.outcome(requestId)).told).toContain(
      'call-failed: Call 1: lab answered badly (transport)',
    );
  });
});

describe('a source that is away for long', () => {
  /**
   * Calls the source as the workflow does, until the step returns a wait that
   * the workflow makes.
   */
  async function untilHeld(
    { askSource }: ReturnType<QueryAccount['activities']>,
    step: SourceStepInput,
  ) {
    for (let call = 1; call < 20; call++) {
      const held = await runActivity(askSource, step).catch(
        (error: unknown) => {
          expect(error).toMatchObject({ nonRetryable: false });
        },
      );
      if (held !== undefined) return held;
    }
    throw new Error('the source was called twenty times in a row');
  }

  test.for(['transport', 'rate-limited', 'denied'] as const)(
    'because of %s is waited for, and the query shows why and until when',
    async (kind, { querying }) => {
      const { step, requestId } = await querying.begin(['lab']);
      const held = await untilHeld(querying.away(kind), step);
      expect(held).toMatchObject({
        state: 'waiting',
        held: { reason: 'lab is away' },
      });
      const { attempts } = await querying.view(requestId);
      expect(attempts).toMatchObject([
        { status: 'running', waiting: { reason: 'lab is away' } },
      ]);
      const timeline = await querying.timeline(requestId);
      expect(timeline.at(-1)).toMatchObject({
        kind: 'waiting',
        message: expect.stringMatching(
          /^Waiting for lab: lab is away \(\d calls failed since \S+Z\); next try at \S+Z$/,
        ),
      });
    },
  );

  test('adds one entry to the timeline, however long it is away', async ({
    querying,
  }) => {
    const { step, requestId } = await querying.begin(['lab']);
    const source = querying.away('denied');
    await untilHeld(source, step);
    const before = await querying.timeline(requestId);
    for (let call = 0; call < 30; call++)
      expect(await runActivity(source.collectSource, step)).toMatchObject({
        held: {},
      });
    const after = await querying.timeline(requestId);
    expect(after).toHaveLength(before.length);
    expect(after.at(-1)?.message).not.toBe(before.at(-1)?.message);
  });

  test('is asked as usual when it is back, and its failed calls count no more', async ({
    querying,
  }) => {
    const { step, requestId } = await querying.begin(['lab']);
    await untilHeld(querying.away('transport'), step);
    const accepting = querying.activities({
      begin: async () => ({ kind: 'accepted', job: { url: 'job-1' } }),
      poll: () =>
        Promise.reject(new SourceFailure('transport', 'lab is away again')),
    });
    expect(await runActivity(accepting.collectSource, step)).toEqual({
      state: 'waiting',
    });
    expect(
      (await querying.view(requestId)).attempts[0]?.waiting,
    ).toBeUndefined();
    await failureOf(runActivity(accepting.collectSource, step));
    expect((await querying.outcome(requestId)).told).toContain(
      'call-failed: Call 1: lab is away again',
    );
    const pending = querying.activities({
      poll: async (job) => ({ kind: 'pending', job }),
    });
    await runActivity(pending.collectSource, step);
    await failureOf(runActivity(accepting.collectSource, step));
    expect(
      (await querying.outcome(requestId)).told.filter((line) =>
        line.includes('Call 2'),
      ),
    ).toEqual(['call-failed: Call 2: lab is away']);
  });

  test('with a Retry-After is not called before that', async ({ querying }) => {
    const { step } = await querying.begin(['lab']);
    const { askSource } = querying.activities({
      begin: () =>
        Promise.reject(
          new SourceFailure('rate-limited', 'busy', {
            retryAfterMs: 7_200_000,
          }),
        ),
    });
    expect(await runActivity(askSource, step)).toMatchObject({
      retryAfterMs: 7_200_000,
      held: {},
    });
  });
});

describe('what was collected', () => {
  test('names the document that brought it', async ({ querying }) => {
    const { patientId } = await querying.begin();
    await querying.collect(patientId, [page([observation('a')])]);
    const [row] = await querying.kept(patientId);
    const document = await querying.inTx((tx) =>
      tx.db
        .selectFrom('document')
        .selectAll()
        .where('id', '=', row?.document_id ?? '')
        .executeTakeFirst(),
    );
    expect(row?.content).toMatchObject({
      id: 'a',
      meta: { source: document?.file_name },
    });
    const bytes = await querying.blobs.read(document?.blob_ref ?? '');
    expect(JSON.parse(bytes.toString())).toMatchObject([{ id: 'a' }]);
  });

  test('says what could not be fetched of what it refers to, and why', async ({
    querying,
  }) => {
    const { patientId } = await querying.begin();
    const requestId = await querying.addQuery(patientId, ['lab']);
    const unreachable = {
      count: 2,
      reason: 'lab answered 503 to a Practitioner',
    };
    const { askSource } = querying.activities(
      sourceOf([page([observation('a')], { unreachable })]),
    );
    await runActivity(askSource, querying.step(requestId, 'lab'));
    expect((await querying.outcome(requestId)).told).toContain(
      'incomplete: 2 organizations, practitioners or locations could not be fetched (lab answered 503 to a Practitioner)',
    );
  });

  test('says what the source reports: an error leaves a gap in the record, a warning does not', async ({
    querying,
  }) => {
    const { patientId } = await querying.begin();
    const requestId = await querying.addQuery(patientId, ['lab']);
    const reported = {
      gaps: ['the source reports an error (timeout)'],
      warnings: ['the source warns'],
    };
    const pages = [
      page([observation('a')], { reported }),
      page([observation('b')], { reported }),
    ];
    const { askSource } = querying.activities(sourceOf(pages));
    await runActivity(askSource, querying.step(requestId, 'lab'));
    const { told } = await querying.outcome(requestId);
    expect(told).toContain('incomplete: the source reports an error (timeout)');
    expect(told.filter((line) => line.includes('warns'))).toEqual([
      'notice: the source warns',
    ]);
    const standing = await querying.inTx((tx) =>
      tx.db
        .selectFrom('network_query_timeline')
        .select(['message', 'is_gap'])
        .where('query_id', '=', requestId)
        .where('kind', 'in', ['incomplete', 'notice'])
        .orderBy('id')
        .execute(),
    );
    expect(standing.map(({ is_gap }) => is_gap)).toContain(true);
    expect(
      standing.find(({ message }) => message.includes('warns'))?.is_gap,
    ).toBe(false);
  });

  test('names a resource that was left out because it is too large', async ({
    querying,
  }) => {
    const { patientId } = await querying.begin();
    const requestId = await querying.addQuery(patientId, ['lab']);
    const leftOut = ['DiagnosticReport/scan'];
    const { askSource } = querying.activities(
      sourceOf([page([observation('a')], { leftOut })]),
    );
    await runActivity(askSource, querying.step(requestId, 'lab'));
    expect((await querying.outcome(requestId)).told).toContain(
      'incomplete: 1 resource larger than a page may be left out (DiagnosticReport/scan)',
    );
  });

  test('has its large documents streamed into the store; one that breaks off twice is counted', async ({
    querying,
  }) => {
    const { patientId } = await querying.begin();
    const requestId = await querying.addQuery(patientId, ['lab']);
    const large = (failures: number): Partial<SourcePage> => {
      let readings = 0;
      async function* chunks() {
        readings += 1;
        yield Buffer.from('%PDF');
        if (readings <= failures)
          throw new SourceFailure('transport', 'lab dropped the connection');
        yield Buffer.from('-1.7');
      }
      return {
        largeAttachment: {
          sourceDocumentId: `d${failures}`,
          contentType: 'application/pdf',
          chunks,
        },
      };
    };
    const pages = [
      page([observation('a')]),
      page([], large(1)),
      page([], large(2)),
    ];
    const { askSource } = querying.activities(sourceOf(pages));
    await runActivity(askSource, querying.step(requestId, 'lab'));
    const stored = await querying.inTx((tx) =>
      tx.db
        .selectFrom('document')
        .select(['source_document_id', 'size_bytes'])
        .where('query_id', '=', requestId)
        .where('kind', '=', 'attachment')
        .execute(),
    );
    expect(stored).toMatchObject([{ source_document_id: 'd1', size_bytes: 8 }]);
    expect((await querying.outcome(requestId)).told).toContain(
      'incomplete: 1 document could not be fetched',
    );
  });

  test('is counted as the documents that a person can get', async ({
    querying,
  }) => {
    const { patientId, requestId, step } = await querying.begin();
    const file = (sourceDocumentId: string, text: string) => ({
      sourceDocumentId,
      contentType: 'text/plain',
      bytes: Buffer.from(text),
    });
    const attachments = [
      file('d1', 'letter'),
      file('d1', 'letter'),
      file('d1', 'picture'),
      file('d2', 'note'),
    ];
    const { askSource } = querying.activities(
      sourceOf([
        page([observation('a')], { attachments }),
        page([observation('b')]),
      ]),
    );
    await runActivity(askSource, step);
    const { listed, kept } = await querying.inTx(async (tx) => ({
      listed: await listDocuments(tx, patientId),
      kept: (await readRecordCompleteness(tx, patientId)).sources.find(
        ({ source }) => source === 'hie',
      ),
    }));
    expect(listed).toHaveLength(3);
    expect(kept?.documents).toBe(3);
    expect((await querying.outcome(requestId)).told).toContain(
      'completed: The hie source completed: 2 resources and 3 documents collected',
    );
  });

  test('that a report has is listed with what the report says; one that is a document of its own too, once', async ({
    querying,
  }) => {
    const { patientId, step } = await querying.begin();
    const report = (id: string): FhirResource => ({
      resourceType: 'DiagnosticReport',
      id,
      status: 'corrected',
      code: { text: `Biopsy ${id}` },
      effectiveDateTime: '2026-03-04',
      issued: '2026-03-05T10:00:00Z',
      performer: [{ display: 'Northside Pathology' }],
      presentedForm: [{ contentType: 'application/pdf', title: 'b.pdf' }],
    });
    const file = (sourceDocumentId: string, text: string) => ({
      sourceDocumentId,
      contentType: 'application/pdf',
      bytes: Buffer.from(text),
    });
    const attachments = [
      file('DiagnosticReport/r1', 'first'),
      file('DiagnosticReport/r2', 'second'),
      file('d2', 'second'),
    ];
    const { askSource } = querying.activities(
      sourceOf([page([report('r1'), report('r2')], { attachments })]),
    );
    await runActivity(askSource, step);
    const listed = await querying.inTx((tx) => listDocuments(tx, patientId));
    expect(listed.map(({ reference }) => reference?.type)).toEqual(
      expect.arrayContaining([{ text: 'Biopsy r1' }, undefined]),
    );
    expect(listed).toHaveLength(2);
    const own = listed.find(({ reference }) => reference !== null);
    expect(own?.reference).toMatchObject({
      status: 'current',
      docStatus: 'amended',
      date: '2026-03-05T10:00:00Z',
      author: [{ display: 'Northside Pathology' }],
      context: { period: { start: '2026-03-04', end: '2026-03-04' } },
      content: [{ attachment: { title: 'b.pdf' } }],
    });
    const { stored } = await querying.inTx((tx) =>
      tx.db
        .selectFrom('document')
        .select(({ fn }) => fn.count('blob_ref').distinct().as('stored'))
        .where('patient_id', '=', patientId)
        .where('kind', '=', 'attachment')
        .executeTakeFirstOrThrow(),
    );
    expect(Number(stored)).toBe(2);
    const kept = await querying.inTx((tx) =>
      readRecordCompleteness(tx, patientId),
    );
    expect(kept.sources.find(({ source }) => source === 'hie')?.documents).toBe(
      2,
    );
  });

  test('stays as it is when the same comes again, and is replaced by newer content', async ({
    querying,
  }) => {
    const { patientId } = await querying.begin();
    await querying.collect(patientId, [
      page([observation('a'), observation('b')]),
    ]);
    const before = await querying.kept(patientId);
    await querying.collect(patientId, [
      page([observation('a'), observation('b', 'corrected')]),
    ]);
    const after = await querying.kept(patientId);
    expect(after).toHaveLength(2);
    expect(after[0]).toEqual(before[0]);
    expect(after[1]).toMatchObject({
      content: { code: { text: 'corrected' } },
    });
    expect(after[1]?.document_id).not.toBe(before[1]?.document_id);
  });

  const odd = fc.string({
    unit: fc.oneof(
      fc.constantFrom(
        '\u0000',
        '\\',
        '\\u0000',
        'u0000',
        '"',
        '\ud83d',
        '\ude00',
        '😀',
        'é',
      ),
      fc.string({ unit: anyCharacter, maxLength: 2 }),
    ),
    maxLength: 20,
  });
  const texts = propertyOf([odd], { numRuns: 200 });
  test(
    texts.named('keeps any text, but for NUL and halves of pairs'),
    async ({ querying }) => {
      const { patientId } = await querying.begin();
      await querying.collect(patientId, [page([observation('a')])]);
      const documentId = (await querying.kept(patientId))[0]?.document_id ?? '';
      await texts.holds(async (text) => {
        const [row] = await querying.inTx(async (tx) => {
          const sha256 = Buffer.from(text, 'utf16le')
            .toString('hex')
            .padEnd(64, '0')
            .slice(0, 64);
          const resource = {
            resourceType: 'Observation',
            sourceId: 'odd',
            sha256,
            json: JSON.stringify({ text }),
            revision: '',
          };
          await tx.db
            .deleteFrom('patient_resource')
            .where('patient_id', '=', patientId)
            .execute();
          await upsertResources(tx, { patientId, source: 'lab', documentId }, [
            resource,
          ]);
          return tx.db
            .selectFrom('delivered_resource')
            .select('content')
            .where('patient_id', '=', patientId)
            .execute();
        });
        expect(row?.content).toEqual({ text: plain(text) });
      });
    },
  );

  test('a fault of ours while the record is merged is no bad answer: the answer is stored, and merged when we can', async ({
    querying,
  }) => {
    const { step, patientId, requestId } = await querying.begin();
    const source = sourceOf([page([observation('a')])]);
    const broken = {
      merge: () => Promise.reject(new RangeError('Invalid time value')),
    } as unknown as RecordKeeper;
    const asked = runActivity(
      querying.activities(source, { records: broken }).askSource,
      step,
    );
    await expect(asked).rejects.toMatchObject({
      type: MERGE_FAILED,
      nonRetryable: false,
      message:
        'The answer is stored, but the exchange could not merge it into the record',
    });
    expect(await querying.kept(patientId)).toHaveLength(1);
    expect(
      await runActivity(querying.activities({}).askSource, step),
    ).toMatchObject({
      state: 'completed',
      resources: 1,
    });
    expect((await querying.view(requestId)).attempts).toMatchObject([
      { status: 'completed' },
    ]);
  });

  test.for<[string, SourcePage]>([
    ['an id that is no text for a database', page([observation('a\u0000b')])],
    [
      'nesting without end',
      {
        ...page([]),
        resources: [Object.assign(observation('a'), { code: deep(50_000) })],
      },
    ],
  ])(
    '%s is a bad answer of the source, not a fault of ours',
    async ([_, unkeepable], { querying }) => {
      const { patientId, requestId } = await querying.begin(['lab']);
      const { askSource } = querying.activities(sourceOf([unkeepable]));
      const failure = await failureOf(
        runActivity(askSource, querying.step(requestId, 'lab')),
      );
      expect(failure).toMatchObject({
        type: SOURCE_FAILURE_TYPES.badAnswer,
        message: 'lab sent data that cannot be stored',
      });
      expect(await querying.kept(patientId)).toEqual([]);
    },
  );
});

function deep(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level++) value = { value };
  return value;
}

/** Without NUL and halves of pairs. */
const plain = (text: string): string =>
  [...text]
    .filter(
      (character) =>
        character !== '\u0000' && !/^[\ud800-\udfff]$/.test(character),
    )
    .join('');

describe('a source that is looked at again and again', () => {
  const input = (step: SourceStepInput) => ({
    ...step,
    waitingSince: Date.now() - 60_000,
    firstLookMs: 45_000,
  });

  test('is called by every try but the first, each after a longer wait, and without a warning', async ({
    querying,
  }) => {
    const { step } = await querying.begin();
    const accepted = { kind: 'accepted', job: { url: 'job-1' } } as const;
    await runActivity(
      querying.activities({ begin: async () => accepted }).askSource,
      step,
    );
    let polls = 0;
    const { awaitSource } = querying.activities({
      poll: async (job) => {
        polls += 1;
        return { kind: 'pending', job };
      },
    });
    const tries = [1, 2].map((call) =>
      runActivity(awaitSource, input(step), call).catch(
        (error: unknown) => error,
      ),
    );
    const [first, second] = (await Promise.all(tries)) as ApplicationFailure[];
    const awaited = {
      type: SOURCE_FAILURE_TYPES.pending,
      nonRetryable: false,
      category: 'BENIGN',
    };
    expect(first).toMatchObject({ ...awaited, nextRetryDelay: 45_000 });
    expect(second).toMatchObject(awaited);
    // Half of the minute waited so far, and the first wait.
    expect(Number(second?.nextRetryDelay)).toBeGreaterThanOrEqual(60_000);
    expect(polls).toBe(1);
  });

  test('lets its workflow look where another build has become current', async ({
    querying,
  }) => {
    const { step } = await querying.begin();
    const looking = repeatedLook(async () => ({ state: 'waiting' }), {
      isReplaced: async () => true,
    });
    const answer = await runActivity(looking, input(step), 2);
    expect(answer).toEqual({ state: 'waiting' });
  });

  test('is collected by the next step, and not by a look, which may be cut off', async ({
    querying,
  }) => {
    const { step, requestId } = await querying.begin();
    const pages = sourceOf([page([observation('a')])]);
    const { askSource, awaitSource, collectSource } = querying.activities({
      begin: async () => ({ kind: 'accepted', job: { url: 'job-1' } }),
      poll: async () => ({ kind: 'ready', pages: pages.pagesFrom(0) }),
    });
    await runActivity(askSource, step);
    const looked = await runActivity(awaitSource, input(step), 2);
    expect(looked).toEqual({ state: 'ready' });
    const { attempts } = await querying.outcome(requestId);
    expect(attempts).toMatchObject([{ status: 'running', pages: 0 }]);
    expect(await runActivity(collectSource, step)).toMatchObject({
      state: 'completed',
      resources: 1,
    });
  });

  test('shows its workflow that it is held, so that the wait can be seen', async ({
    querying,
  }) => {
    const { step } = await querying.begin();
    const begin = async () =>
      ({ kind: 'accepted', job: { url: 'job-1' } }) as const;
    await runActivity(querying.activities({ begin }).askSource, step);
    const { awaitSource } = querying.activities({
      poll: () =>
        Promise.reject(
          new SourceFailure('transport', 'hie is away', {
            retryAfterMs: 60_000,
          }),
        ),
    });
    expect(await runActivity(awaitSource, input(step), 2)).toMatchObject({
      state: 'waiting',
      held: { reason: 'hie is away' },
    });
  });
});
