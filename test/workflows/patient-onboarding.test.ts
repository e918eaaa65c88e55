import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointActivities } from '../../src/activities/orchestrator/endpoints.ts';
import {
  allRunning,
  attempt,
  ended,
  queryAnswer,
  REQUEST_ID,
  RESTART_ID,
} from '../support/onboarding-events.ts';
import {
  createOnboardingEnvironment,
  EVENT,
  failure,
  type OnboardingEnvironment,
  type OnboardingRun,
  obliging,
  quick,
  statusOf,
} from '../support/patient-onboarding-environment.ts';

let onboardings: OnboardingEnvironment;
beforeAll(async () => {
  onboardings = await createOnboardingEnvironment();
});
afterAll(() => onboardings?.close());

type StartInput = Parameters<EndpointActivities['startNetworkQuery']>[0];

const allCompleted = queryAnswer(
  [
    attempt('hie', 'failed', 0, 1),
    attempt('hie', 'completed', 2, 3),
    attempt('pharmacy', 'completed', 0, 4),
    attempt('lab', 'completed', 0, 5),
  ],
  { status: 'completed' },
);

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

async function isCancelRequested(run: OnboardingRun): Promise<boolean> {
  const { events } = await run.fetchHistory();
  return (
    events?.some(
      (event) => event.activityTaskCancelRequestedEventAttributes != null,
    ) ?? false
  );
}

async function failureOf(result: Promise<unknown>): Promise<unknown> {
  const error = await result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof WorkflowFailedError ? error.cause : error;
}

describe('an onboarding', () => {
  test('ends as well where the exchange lists no documents', async () => {
    const activities = obliging({
      startNetworkQuery: async () => allCompleted,
      listDocuments: async () => {
        throw failure('not-found');
      },
    });
    const summary = await onboardings.withWorker(activities, async () =>
      (await onboardings.start()).result(),
    );
    expect(summary).toMatchObject({
      status: 'completed',
      patientId: 'patient-1',
    });
    expect(summary.documents).toBeUndefined();
  });

  test('creates the patient, adds it to cohorts, and ends when a webhook has come for each source', async () => {
    let sent: StartInput | undefined;
    const activities = obliging({
      startNetworkQuery: async (input) => {
        sent = input;
        return allRunning();
      },
      getNetworkQuery: async () => allCompleted,
    });
    const summary = await onboardings.withWorker(activities, async () => {
      const run = await onboardings.start({
        cohortIds: ['cohort-1'],
        metadata: { visit: '7' },
      });
      await run.signal(EVENT, ended('hie', 'completed', 3));
      await run.signal(EVENT, ended('pharmacy', 'completed', 4));
      await run.signal(EVENT, ended('pharmacy', 'completed', 4));
      await run.signal(EVENT, ended('lab', 'completed', 5));
      return run.result();
    });
    expect(sent?.body.metadata).toEqual({
      visit: '7',
      orchestrationId: expect.stringMatching(/^orchestration-/),
    });
    expect(summary).toMatchObject({
      patientId: 'patient-1',
      created: true,
      cohorts: ['cohort-1'],
      requestIds: [REQUEST_ID],
      status: 'completed',
      consolidatedDataUrl: 'https://exchange.test/data/5',
      documents: { total: 1, fileNames: ['summary.xml'] },
      webhooksReceived: 3,
      sources: [
        { type: 'hie', outcome: 'completed', attempts: 2, via: 'webhook' },
        { type: 'pharmacy', outcome: 'completed', attempts: 1, via: 'webhook' },
        { type: 'lab', outcome: 'completed', attempts: 1, via: 'webhook' },
      ],
    });
  });

  test('looks for itself when webhooks get lost', async () => {
    let polls = 0;
    const activities = obliging({
      getNetworkQuery: async () => {
        polls += 1;
        return polls < 3 ? allRunning() : allCompleted;
      },
    });
    const summary = await onboardings.withWorker(activities, async () =>
      (await onboardings.start({ timing: quick })).result(),
    );
    expect(summary.status).toBe('completed');
    expect(summary.sources.map(({ via }) => via)).toEqual([
      'poll',
      'poll',
      'poll',
    ]);
    expect(polls).toBe(3);
  });

  test('keeps waiting when looks fail, and says what is wrong', async () => {
    let polls = 0;
    const activities = obliging({
      getNetworkQuery: async () => {
        polls += 1;
        if (polls < 3) throw failure('unauthorized');
        return allCompleted;
      },
    });
    const summary = await onboardings.withWorker(activities, async () =>
      (await onboardings.start({ timing: quick })).result(),
    );
    expect(summary.status).toBe('completed');
  });

  test('asks again for the sources that met a rate limit, and only for these', async () => {
    const asked: unknown[] = [];
    const activities = obliging({
      startNetworkQuery: async ({ body }) => {
        asked.push(body.sources);
        if (asked.length < 3)
          return queryAnswer(
            asked.length === 1 ? [attempt('hie', 'processing')] : [],
            {
              requestId: asked.length === 1 ? REQUEST_ID : RESTART_ID,
              errors: [
                { source: 'pharmacy', httpStatus: 429 },
                ...(asked.length === 1
                  ? [{ source: 'lab' as const, httpStatus: 400 }]
                  : []),
              ],
            },
          );
        return queryAnswer([attempt('pharmacy', 'processing', 9)], {
          requestId: 'third',
        });
      },
      getNetworkQuery: async ({ params }) =>
        queryAnswer(
          [
            attempt(
              params.requestId === REQUEST_ID ? 'hie' : 'pharmacy',
              'completed',
              9,
              10,
            ),
          ],
          {
            requestId: params.requestId,
            status: 'completed',
          },
        ),
    });
    const summary = await onboardings.withWorker(activities, async () =>
      (await onboardings.start()).result(),
    );
    expect(asked).toEqual([
      {
        hie: { enabled: true },
        pharmacy: { enabled: true, realtime: true },
        lab: { enabled: true },
      },
      { pharmacy: { enabled: true, realtime: true } },
      { pharmacy: { enabled: true, realtime: true } },
    ]);
    expect(summary).toMatchObject({
      status: 'partial',
      requestIds: [REQUEST_ID, RESTART_ID, 'third'],
      sources: [
        { outcome: 'completed', starts: 1 },
        { outcome: 'completed', starts: 3 },
        {
          outcome: 'not-started',
          starts: 1,
          error: 'could not be started (400)',
        },
      ],
    });
  });

  test('ends at its deadline, weeks later, and says what is missing', async () => {
    let polls = 0;
    const activities = obliging({
      getNetworkQuery: async () => {
        polls += 1;
        return queryAnswer([attempt('lab', 'completed', 0, 5)]);
      },
    });
    const summary = await onboardings.withWorker(activities, async () =>
      (
        await onboardings.start({
          timing: { pollFirstMs: 86_400_000, pollMaxMs: 3 * 86_400_000 },
        })
      ).result(),
    );
    expect(summary.sources).toMatchObject([
      { outcome: 'timed-out', error: 'no outcome before the deadline' },
      { outcome: 'timed-out' },
      { outcome: 'completed', via: 'poll' },
    ]);
    expect(polls).toBeGreaterThan(10);
  });

  test('does not ask twice for a query whose start is ambiguous; its webhook tells which it is', async () => {
    let starts = 0;
    const activities = obliging({
      startNetworkQuery: async () => {
        starts += 1;
        throw failure('ambiguous');
      },
      getNetworkQuery: async () => allCompleted,
    });
    const summary = await onboardings.withWorker(activities, async () => {
      const run = await onboardings.start({ timing: quick });
      await run.signal(EVENT, ended('pharmacy', 'completed', 4));
      return run.result();
    });
    expect(starts).toBe(1);
    expect(summary).toMatchObject({
      status: 'completed',
      requestIds: [REQUEST_ID],
    });
  });

  test('answers its status at any time', async () => {
    await onboardings.withWorker(
      obliging({ getNetworkQuery: async () => allCompleted }),
      async () => {
        const run = await onboardings.start();
        await run.signal(EVENT, ended('hie', 'completed', 3));
        await expect
          .poll(() => statusOf(run))
          .toMatchObject({
            phase: 'querying',
            patientId: 'patient-1',
            requestIds: [REQUEST_ID],
            webhooksReceived: 1,
            sources: [
              { type: 'hie', state: 'completed' },
              { state: 'running' },
              { state: 'running' },
            ],
          });
        await run.result();
      },
    );
  });
});

describe('an onboarding that cannot go on', () => {
  test.each([
    [
      'createPatient',
      'patient-not-created',
      'The patient could not be created',
    ],
    [
      'addPatientToCohorts',
      'cohorts-not-assigned',
      'The patient was created, but could not be added',
    ],
    [
      'startNetworkQuery',
      'query-not-started',
      'The patient was created, but the network query could not',
    ],
  ] as const)(
    'fails with the step that was refused (%s)',
    async (step, type, message) => {
      const refused = `${step}: 400 BAD_REQUEST "Missing or invalid parameters" (address.0.zip)`;
      const activities = obliging({
        [step]: async () => {
          throw failure('rejected', refused);
        },
      });
      const cause = await onboardings.withWorker(activities, async () =>
        failureOf((await onboardings.start({ cohortIds: ['c'] })).result()),
      );
      expect(cause).toBeInstanceOf(ApplicationFailure);
      expect(cause).toMatchObject({ type, details: [{ kind: 'rejected' }] });
      expect((cause as Error).message).toContain(message);
      expect((cause as Error).message).toContain(refused);
    },
  );
});

describe('a cancelled onboarding', () => {
  test.each([
    ['stops the query that runs', undefined],
    ['does not mind that the query has ended', 'conflict'],
    ['does not mind an exchange that cannot cancel', 'not-found'],
  ] as const)('%s', async (_title, refusal) => {
    const cancelled: string[] = [];
    const activities = obliging({
      cancelNetworkQuery: async ({ params }) => {
        cancelled.push(params.requestId);
        if (refusal !== undefined) throw failure(refusal);
        return allRunning();
      },
    });
    const cause = await onboardings.withWorker(activities, async () => {
      const run = await onboardings.start();
      await expect
        .poll(async () => (await statusOf(run)).requestIds)
        .toEqual([REQUEST_ID]);
      await run.cancel();
      return failureOf(run.result());
    });
    expect(cause).toBeInstanceOf(CancelledFailure);
    expect(cancelled).toEqual([REQUEST_ID]);
  });

  test('stops a query whose start was under way', async () => {
    const cancelled: string[] = [];
    const begun = gate();
    const release = gate();
    const activities = obliging({
      startNetworkQuery: async () => {
        begun.open();
        await release.opened;
        return allRunning();
      },
      cancelNetworkQuery: async ({ params }) => {
        cancelled.push(params.requestId);
        return allRunning();
      },
    });
    const cause = await onboardings.withWorker(activities, async () => {
      const run = await onboardings.start();
      await begun.opened;
      await run.cancel();
      await expect.poll(() => isCancelRequested(run)).toBe(true);
      release.open();
      return failureOf(run.result());
    });
    expect(cause).toBeInstanceOf(CancelledFailure);
    expect(cancelled).toEqual([REQUEST_ID]);
  });
});
