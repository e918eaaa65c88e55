import { describe, expect, test } from 'vitest';
import { DEFAULT_ONBOARDING_TIMING } from '../../../src/contract/patient-onboarding.ts';
import { onboardingDetails } from '../../../src/workflows/orchestrator/patient-onboarding/details.ts';
import { Onboarding } from '../../../src/workflows/orchestrator/patient-onboarding/onboarding.ts';
import {
  onboardingStatus,
  onboardingSummary,
} from '../../../src/workflows/orchestrator/patient-onboarding/report.ts';
import {
  allRunning,
  attempt,
  ended,
  onboardingInput,
  queryAnswer,
  REQUEST_ID,
  RESTART_ID,
  T0,
} from '../../support/onboarding-events.ts';

const MINUTE = 60_000;
const ALL = ['hie', 'pharmacy', 'lab'] as const;
const timing = {
  pollFirstMs: MINUTE,
  pollMaxMs: 10 * MINUTE,
  restartFirstMs: 2 * MINUTE,
  restartsMax: 2,
  deadlineMs: 1000 * MINUTE,
};

function started(answer = allRunning()): Onboarding {
  const onboarding = new Onboarding(onboardingInput({ timing }), T0);
  onboarding.patientCreated('patient-1', true);
  onboarding.cohortsAssigned([]);
  onboarding.queryStarted(ALL, answer, T0);
  return onboarding;
}

const limited = (httpStatus = 429) =>
  queryAnswer([attempt('hie', 'processing'), attempt('lab', 'processing')], {
    status: 'processing',
    errors: [{ source: 'pharmacy', httpStatus }],
  });

test('an input without timing, as a caller of its own may start it, has the usual one', () => {
  const { timing: _, ...rest } = onboardingInput();
  const { deadlineAtMs } = new Onboarding(rest, T0).state;
  expect(deadlineAtMs).toBe(T0 + DEFAULT_ONBOARDING_TIMING.deadlineMs);
  expect(
    new Onboarding({ ...rest, timing: { restartsMax: 1 } }, T0).state
      .deadlineAtMs,
  ).toBe(deadlineAtMs);
});

describe('a webhook about another patient', () => {
  test('changes nothing, even under this onboarding’s request id', () => {
    const onboarding = started();
    onboarding.webhook(ended('hie', 'failed', 1, { patientId: 'patient-2' }));
    expect(onboardingStatus(onboarding.state)).toMatchObject({
      webhooksReceived: 0,
    });
    expect(onboarding.openRequestIds).toEqual([REQUEST_ID]);
    onboarding.webhook(
      ended('hie', 'completed', 2, { patientId: 'patient-1' }),
    );
    expect(onboardingStatus(onboarding.state).sources[0]).toMatchObject({
      type: 'hie',
      state: 'completed',
    });
  });

  test('is not taken for the first word of a query whose start is unknown', () => {
    const onboarding = new Onboarding(onboardingInput({ timing }), T0);
    onboarding.patientCreated('patient-1', true);
    onboarding.cohortsAssigned([]);
    onboarding.startUnknown(ALL, T0);
    onboarding.webhook(
      ended('hie', 'completed', 1, {
        patientId: 'patient-2',
        requestId: RESTART_ID,
      }),
    );
    expect(onboarding.state.requestIds).toEqual([]);
  });
});

describe('sources that could not start', () => {
  test('a rate-limited source is asked for again once its wait is over, alone', () => {
    const onboarding = started(limited());
    expect(onboarding.next(T0)).toEqual({
      kind: 'wait',
      ms: MINUTE,
      for: 'status',
    });
    expect(onboarding.next(T0 + 2 * MINUTE)).toEqual({
      kind: 'start',
      types: ['pharmacy'],
    });
    onboarding.queryStarted(
      ['pharmacy'],
      queryAnswer([attempt('pharmacy', 'processing', 2)], {
        requestId: RESTART_ID,
      }),
      T0 + 2 * MINUTE,
    );
    expect(onboarding.openRequestIds).toEqual([REQUEST_ID, RESTART_ID]);
    onboarding.webhook(
      ended('pharmacy', 'completed', 3, { requestId: RESTART_ID }),
    );
    onboarding.webhook(ended('hie', 'completed', 3));
    onboarding.webhook(ended('lab', 'completed', 3));
    const summary = onboardingSummary(onboarding.state);
    expect(summary.status).toBe('completed');
    expect(summary.sources[1]).toMatchObject({
      type: 'pharmacy',
      starts: 2,
      attempts: 1,
      error: undefined,
    });
  });

  test('the number of further queries is bounded, and the waits grow', () => {
    const onboarding = started(limited());
    const alone = queryAnswer([], {
      status: 'failed',
      requestId: RESTART_ID,
      errors: [{ source: 'pharmacy', httpStatus: 429 }],
    });
    onboarding.queryStarted(['pharmacy'], alone, T0 + 2 * MINUTE);
    expect(onboardingStatus(onboarding.state).nextStartAt).toBe(
      new Date(T0 + 6 * MINUTE).toISOString(),
    );
    onboarding.queryStarted(['pharmacy'], alone, T0 + 6 * MINUTE);
    onboarding.webhook(ended('hie', 'completed', 3));
    onboarding.webhook(ended('lab', 'completed', 3));
    expect(onboarding.settled).toBe(true);
    expect(onboardingSummary(onboarding.state)).toMatchObject({
      status: 'partial',
      sources: [
        {},
        {
          outcome: 'not-started',
          starts: 3,
          error: 'could not be started (429)',
        },
        {},
      ],
    });
  });

  test('a source that the account may not use is final at once', () => {
    const onboarding = started(limited(400));
    onboarding.webhook(ended('hie', 'completed', 3));
    onboarding.webhook(ended('lab', 'failed', 3));
    expect(onboarding.next(T0 + MINUTE)).toEqual({ kind: 'finish' });
    expect(
      onboardingSummary(onboarding.state).sources.map(({ outcome }) => outcome),
    ).toEqual(['completed', 'not-started', 'failed']);
  });
});

describe('events', () => {
  test('one that comes before the answer to E2 is kept until it', () => {
    const onboarding = new Onboarding(onboardingInput({ timing }), T0);
    onboarding.webhook(ended('hie', 'completed', 1));
    expect(onboardingStatus(onboarding.state).webhooksReceived).toBe(0);
    onboarding.queryStarted(ALL, allRunning(), T0);
    expect(onboardingStatus(onboarding.state)).toMatchObject({
      webhooksReceived: 1,
      sources: [
        { state: 'completed' },
        { state: 'running' },
        { state: 'running' },
      ],
    });
  });

  test('one of a query that is not ours never counts', () => {
    const onboarding = started();
    onboarding.webhook(ended('hie', 'completed', 1, { requestId: RESTART_ID }));
    expect(onboardingStatus(onboarding.state)).toMatchObject({
      webhooksReceived: 0,
      sources: [{ state: 'running' }, {}, {}],
    });
  });

  test('a later attempt opens a failed source again', () => {
    const onboarding = started();
    onboarding.webhook(ended('hie', 'failed', 5));
    expect(onboardingStatus(onboarding.state).sources[0]?.state).toBe('failed');
    onboarding.polled(
      queryAnswer([
        attempt('hie', 'failed', 0, 5),
        attempt('hie', 'in-progress', 6),
      ]),
    );
    expect(onboardingStatus(onboarding.state).sources[0]?.state).toBe(
      'running',
    );
    onboarding.webhook(ended('hie', 'completed', 7));
    expect(onboardingStatus(onboarding.state).sources[0]?.state).toBe(
      'completed',
    );
  });

  test('after a start of unknown outcome the first event tells which query is ours', () => {
    const onboarding = new Onboarding(onboardingInput({ timing }), T0);
    onboarding.patientCreated('patient-1', true);
    onboarding.startUnknown(ALL, T0);
    expect(onboarding.next(T0 + MINUTE)).toMatchObject({
      kind: 'wait',
      for: 'deadline',
    });
    onboarding.webhook(ended('hie', 'completed', 1));
    expect(onboarding.openRequestIds).toEqual([REQUEST_ID]);
    expect(onboarding.next(T0 + MINUTE)).toEqual({ kind: 'poll' });
  });
});

describe('polls', () => {
  test('come later and later, up to the maximum', () => {
    const onboarding = started();
    const waits: number[] = [];
    let nowMs = T0;
    for (let index = 0; index < 6; index += 1) {
      const step = onboarding.next(nowMs);
      if (step.kind !== 'wait') throw new Error(`unexpected ${step.kind}`);
      waits.push(step.ms / MINUTE);
      nowMs += step.ms;
      expect(onboarding.next(nowMs)).toEqual({ kind: 'poll' });
      onboarding.pollsDone(nowMs);
    }
    expect(waits).toEqual([1, 2, 4, 8, 10, 10]);
  });

  test('a failed attempt is no outcome while the query still runs', () => {
    const onboarding = started();
    onboarding.polled(queryAnswer([attempt('hie', 'failed', 0, 1)]));
    expect(onboardingStatus(onboarding.state).sources[0]?.state).toBe(
      'running',
    );
    onboarding.polled(
      queryAnswer([attempt('hie', 'failed', 0, 1)], { status: 'partial' }),
    );
    expect(onboardingStatus(onboarding.state).sources[0]?.state).toBe('failed');
  });

  test('a query that the exchange does not know any more ends its sources, unless it comes back', () => {
    const onboarding = started();
    onboarding.pollFoundNothing(REQUEST_ID);
    onboarding.pollFoundNothing(REQUEST_ID);
    onboarding.polled(allRunning());
    onboarding.pollFoundNothing(REQUEST_ID);
    onboarding.pollFoundNothing(REQUEST_ID);
    expect(onboarding.settled).toBe(false);
    onboarding.pollFoundNothing(REQUEST_ID);
    expect(onboarding.settled).toBe(true);
    expect(onboardingSummary(onboarding.state).sources[0]).toMatchObject({
      outcome: 'failed',
      error: 'the exchange no longer knows the query',
    });
  });
});

test('at the deadline what is open is given up, and the summary says so', () => {
  const onboarding = started(limited());
  onboarding.webhook(ended('lab', 'completed', 1));
  expect(onboarding.next(T0 + 1000 * MINUTE)).toEqual({ kind: 'give-up' });
  onboarding.giveUp();
  expect(onboarding.next(T0 + 1000 * MINUTE)).toEqual({ kind: 'finish' });
  expect(onboardingSummary(onboarding.state)).toMatchObject({
    status: 'partial',
    sources: [
      { outcome: 'timed-out' },
      { outcome: 'not-started' },
      { outcome: 'completed' },
    ],
  });
});

test('a carried state goes on where it was', () => {
  const before = started(limited());
  before.webhook(ended('hie', 'completed', 1));
  const carried = JSON.parse(JSON.stringify(before.state));
  const after = new Onboarding(
    onboardingInput({ timing }),
    T0 + 99 * MINUTE,
    carried,
  );
  expect(onboardingStatus(after.state)).toEqual(onboardingStatus(before.state));
  after.webhook(ended('hie', 'completed', 1));
  expect(after.state.webhooksReceived).toBe(1);
});

describe('the page of an onboarding', () => {
  test('that ended as partial says so, why, and what to type', () => {
    const onboarding = started(
      queryAnswer(
        [attempt('hie', 'processing'), attempt('lab', 'processing')],
        {
          status: 'processing',
          errors: [{ source: 'pharmacy', httpStatus: 400 }],
        },
      ),
    );
    expect(onboardingDetails(onboarding.state)).toContain(
      `npm run starter -- status ${REQUEST_ID}`,
    );
    onboarding.webhook(ended('hie', 'completed', 1));
    onboarding.webhook(ended('lab', 'failed', 2));
    onboarding.state.phase = 'ended';
    const lines = onboardingDetails(onboarding.state).split('\n');
    expect(lines[0]).toBe('**Ended as partial: 1 of 3 sources completed**');
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^- \*\*pharmacy\*\*: not-started · could not be started \(400\)/,
        ),
        expect.stringMatching(
          /^- \*\*lab\*\*: failed · the source failed; see the timeline of the query/,
        ),
        `- Query lab again: \`npm run starter -- retry ${REQUEST_ID} lab\``,
        '- Query pharmacy: `npm run starter -- query patient-1 --sources pharmacy`',
      ]),
    );
    expect(lines.join()).not.toContain(`retry ${REQUEST_ID} hie`);
  });
});
