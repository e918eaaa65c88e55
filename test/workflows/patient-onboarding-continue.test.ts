import { afterAll, beforeAll, expect, test } from 'vitest';
import { searchAttribute } from '../../src/temporal/search-attributes.ts';
import { allRunning, ended, REQUEST_ID } from '../support/onboarding-events.ts';
import {
  createOnboardingEnvironment,
  EVENT,
  type OnboardingEnvironment,
  obliging,
} from '../support/patient-onboarding-environment.ts';

let onboardings: OnboardingEnvironment;
beforeAll(async () => {
  onboardings = await createOnboardingEnvironment();
});
afterAll(() => onboardings?.close());

test('an onboarding that waits long goes on in a new run with all it knew, and repeats no call', async () => {
  const calls: string[] = [];
  const note =
    <A extends unknown[], R>(name: string, activity: (...args: A) => R) =>
    (...args: A): R => {
      calls.push(name);
      return activity(...args);
    };
  const minutesMs = 60_000;
  const activities = obliging({
    createPatient: note('create', async () => ({
      patientId: 'patient-1',
      created: true,
    })),
    startNetworkQuery: note('start', async () => allRunning()),
    getNetworkQuery: note('poll', async () => allRunning()),
  });
  await onboardings.withWorker(activities, async () => {
    const run = await onboardings.start({
      timing: {
        pollFirstMs: minutesMs,
        pollMaxMs: minutesMs,
        deadlineMs: 400 * minutesMs,
      },
    });
    await run.signal(EVENT, ended('lab', 'completed', 5));
    const summary = await run.result();
    const { runId, typedSearchAttributes } = await run.describe();
    expect(runId).not.toBe(run.firstExecutionRunId);
    expect(typedSearchAttributes.get(searchAttribute.queryStatus)).toBe(
      'partial',
    );
    expect(summary).toMatchObject({
      patientId: 'patient-1',
      requestIds: [REQUEST_ID],
      webhooksReceived: 1,
      sources: [
        { outcome: 'timed-out' },
        { outcome: 'timed-out' },
        { outcome: 'completed', via: 'webhook' },
      ],
    });
  });
  expect(calls.filter((name) => name !== 'poll')).toEqual(['create', 'start']);
});
