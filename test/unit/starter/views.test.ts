import { describe, expect, test } from 'vitest';
import type { PatientOnboardingStatus } from '../../../src/contract/patient-onboarding.ts';
import {
  combinedState,
  EXIT,
  exitCodeOf,
} from '../../../src/lib/exit-codes.ts';
import { onboardingView } from '../../../src/starter/progress/onboarding-view.ts';
import { queryView } from '../../../src/starter/progress/query-view.ts';
import {
  allRunning,
  at,
  attempt,
  queryAnswer,
  REQUEST_ID,
} from '../../support/onboarding-events.ts';

const told = (
  source: 'hie' | 'lab',
  attemptNumber: number,
  message: string,
) => ({
  at: at(1),
  source,
  attempt: attemptNumber,
  kind: 'failed',
  message,
});

describe('a query, by source', () => {
  test('counts its attempts also where the exchange lists only the last one', () => {
    const answer = queryAnswer([attempt('lab', 'in-progress', 5)]);
    const view = queryView(answer, [
      told('lab', 1, 'answered 503; attempt 2 in 3 s'),
      told('lab', 2, 'Asking'),
    ]);
    expect(view.sources).toMatchObject([
      { type: 'lab', state: 'running', attempts: 2, note: 'Asking' },
    ]);
  });

  test('shows the last attempt by time, in whatever order they come', () => {
    const answer = queryAnswer(
      [attempt('hie', 'completed', 2, 3), attempt('hie', 'failed', 0, 1)],
      {
        status: 'completed',
      },
    );
    const { history, state } = queryView(answer, []).sources[0] ?? {};
    expect(history?.map(({ state }) => state)).toEqual(['failed', 'completed']);
    expect(state).toBe('completed');
  });

  test('lists a source that could not be started', () => {
    const answer = queryAnswer([attempt('hie', 'completed')], {
      status: 'completed',
      errors: [{ source: 'lab', httpStatus: 429 }],
    });
    expect(queryView(answer, []).sources[1]).toMatchObject({
      type: 'lab',
      state: 'not-started',
      attempts: 0,
      note: 'could not be started (429)',
    });
  });

  test('an unknown word for an end is no success', () => {
    expect(
      queryView(
        queryAnswer([attempt('hie', 'expired')], { status: 'expired' }),
        [],
      ),
    ).toMatchObject({
      state: 'failed',
      sources: [{ state: 'failed' }],
    });
  });
});

describe('an onboarding', () => {
  const status: PatientOnboardingStatus = {
    phase: 'querying',
    cohorts: [],
    requestIds: [REQUEST_ID],
    sources: [
      { type: 'lab', state: 'running', requestId: REQUEST_ID, via: 'poll' },
    ],
    webhooksReceived: 0,
    polls: 1,
    intakes: 0,
    deadlineAt: at(100),
  };
  const completed = queryView(
    queryAnswer([attempt('lab', 'completed', 0, 1)], { status: 'completed' }),
    [],
  );

  test('whose query has ended waits for the webhook', () => {
    const [lab] = onboardingView({
      status,
      queries: new Map([[REQUEST_ID, completed]]),
    }).sources;
    expect(lab).toMatchObject({
      state: 'running',
      note: 'completed; waiting for the webhook',
    });
    expect(lab?.via).toBeUndefined();
  });

  test('that was cancelled shows how its sources ended', () => {
    const end = { state: 'cancelled' } as const;
    const view = onboardingView({
      status,
      queries: new Map([[REQUEST_ID, completed]]),
      end,
    });
    expect(view).toMatchObject({
      state: 'cancelled',
      phase: 'ended',
      sources: [{ state: 'completed' }],
    });
  });

  test('can be shown before anything is known of it', () => {
    expect(onboardingView({ queries: new Map() })).toMatchObject({
      state: 'running',
      sources: [],
    });
  });

  test('takes the reason of a failure from the timeline', () => {
    const failed = queryView(
      queryAnswer([attempt('lab', 'failed', 0, 1)], { status: 'failed' }),
      [told('lab', 1, 'lab answered 403')],
    );
    const summary = {
      patientId: 'patient-1',
      created: true,
      cohorts: [],
      requestIds: [REQUEST_ID],
      status: 'failed' as const,
      sources: [
        {
          type: 'lab' as const,
          outcome: 'failed' as const,
          attempts: 1,
          starts: 1,
          error: 'the source failed',
        },
      ],
      webhooksReceived: 1,
    };
    const view = onboardingView({
      status,
      queries: new Map([[REQUEST_ID, failed]]),
      end: { state: 'ended', summary },
    });
    expect(view.sources).toMatchObject([
      { state: 'failed', note: 'lab answered 403' },
    ]);
  });
});

test('a query that runs has every source running', () => {
  expect(queryView(allRunning(), []).sources.map(({ state }) => state)).toEqual(
    ['running', 'running', 'running'],
  );
});

test('the exit code of several tells the difference between all, some and none', () => {
  const codeOf = (...states: Parameters<typeof combinedState>[0]) =>
    exitCodeOf(combinedState(states));
  expect(codeOf('completed', 'completed')).toBe(EXIT.done);
  expect(codeOf('completed', 'failed')).toBe(EXIT.partial);
  expect(codeOf('partial', 'partial')).toBe(EXIT.partial);
  expect(codeOf('failed', 'cancelled')).toBe(EXIT.failed);
  expect(codeOf('completed', 'running')).toBe(EXIT.running);
  expect(codeOf()).toBe(EXIT.failed);
});
