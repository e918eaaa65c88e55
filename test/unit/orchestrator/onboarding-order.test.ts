import fc from 'fast-check';
import { describe, expect } from 'vitest';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../../src/contract/primitives.ts';
import { Onboarding } from '../../../src/workflows/orchestrator/patient-onboarding/onboarding.ts';
import { onboardingSummary } from '../../../src/workflows/orchestrator/patient-onboarding/report.ts';
import type { QueryReport } from '../../../src/workflows/orchestrator/patient-onboarding/source-fact.ts';
import {
  allRunning,
  attempt,
  ended,
  onboardingInput,
  queryAnswer,
  T0,
} from '../../support/onboarding-events.ts';
import { property } from '../../support/property.ts';

/**
 * How one source really went: failed attempts, then its end; `redriven` follows
 * an end that was told as a failure.
 */
interface Story {
  failuresBefore: number;
  end: 'completed' | 'failed';
  redriven: boolean;
  endMinute: number;
}

const story: fc.Arbitrary<Story> = fc.record({
  failuresBefore: fc.integer({ min: 0, max: 3 }),
  end: fc.constantFrom('completed', 'failed'),
  redriven: fc.boolean(),
  endMinute: fc.integer({ min: 60, max: 100 }),
});

type Happening = (onboarding: Onboarding) => void;

/**
 * All attempts of a source as E3 lists them when the story has got to `minute`.
 */
function attemptsAt(
  type: SourceType,
  { failuresBefore, end, redriven, endMinute }: Story,
  minute: number,
) {
  const lengths = Array.from({ length: failuresBefore }, (_, index) =>
    attempt(type, 'failed', index * 10, index * 10 + 5),
  );
  const all = [
    ...lengths,
    ...(redriven ? [attempt(type, 'failed', 40, 45)] : []),
    attempt(type, end, 50, endMinute),
  ];
  return all
    .filter(({ startedAt }) => Date.parse(startedAt) <= T0 + minute * 60_000)
    .map((entry) =>
      Date.parse(entry.completedAt ?? '') > T0 + minute * 60_000
        ? { ...entry, status: 'in-progress', completedAt: undefined }
        : entry,
    );
}

function pollAt(
  stories: Record<SourceType, Story>,
  minute: number,
): QueryReport {
  const isOver = SOURCE_TYPES.every(
    (type) => stories[type].endMinute <= minute,
  );
  const ends = new Set(SOURCE_TYPES.map((type) => stories[type].end));
  const over =
    ends.size > 1 ? 'partial' : ends.has('completed') ? 'completed' : 'failed';
  return queryAnswer(
    SOURCE_TYPES.flatMap((type) => attemptsAt(type, stories[type], minute)),
    { status: isOver ? over : 'in-progress' },
  );
}

const webhooks = (
  type: SourceType,
  { end, redriven, endMinute }: Story,
): Happening[] => [
  ...(redriven
    ? [(o: Onboarding) => o.webhook(ended(type, 'failed', 45))]
    : []),
  (o) => o.webhook(ended(type, end, endMinute)),
];

describe('whatever the order in which answers, webhooks and polls arrive', () => {
  property([
    fc.record({ hie: story, pharmacy: story, lab: story }),
    fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 6 }),
    fc.infiniteStream(fc.nat()),
    fc.boolean(),
  ])(
    'the outcomes are those of the sources',
    (stories, polls, randomness, answerFirst) => {
      const random = () => randomness.next().value as number;
      const told = SOURCE_TYPES.flatMap((type) =>
        webhooks(type, stories[type]),
      );
      const doubled = told.flatMap((happening) =>
        Array<Happening>(1 + (random() % 3)).fill(happening),
      );
      const answer: Happening = (o) =>
        o.queryStarted([...SOURCE_TYPES], allRunning(), T0);
      const looks = polls.map(
        (minute): Happening =>
          (o) =>
            o.polled(pollAt(stories, minute)),
      );
      const shuffled = [...doubled, ...looks, ...(answerFirst ? [] : [answer])]
        .map((happening) => ({ happening, key: random() }))
        .sort((a, b) => a.key - b.key)
        .map(({ happening }) => happening);

      const onboarding = new Onboarding(onboardingInput(), T0);
      onboarding.patientCreated('patient-1', true);
      onboarding.cohortsAssigned([]);
      for (const happening of answerFirst ? [answer, ...shuffled] : shuffled)
        happening(onboarding);

      expect(onboarding.settled).toBe(true);
      const summary = onboardingSummary(onboarding.state);
      for (const source of summary.sources) {
        const truth = stories[source.type];
        expect(source.outcome).toBe(truth.end);
        expect(source.via).toBe('webhook');
        expect(source.completedAt).toBe(
          new Date(T0 + truth.endMinute * 60_000).toISOString(),
        );
      }
      expect(summary.webhooksReceived).toBe(told.length);
    },
  );

  property([
    fc.record({ hie: story, pharmacy: story, lab: story }),
    fc.subarray([...SOURCE_TYPES]),
    fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 6 }),
  ])(
    'a lost webhook changes only how the outcome was learned',
    (stories, lost, minutes) => {
      const onboarding = new Onboarding(onboardingInput(), T0);
      onboarding.patientCreated('patient-1', true);
      onboarding.cohortsAssigned([]);
      onboarding.queryStarted([...SOURCE_TYPES], allRunning(), T0);
      for (const minute of [...minutes].sort((a, b) => a - b))
        onboarding.polled(pollAt(stories, minute));
      for (const type of SOURCE_TYPES)
        if (!lost.includes(type))
          for (const happening of webhooks(type, stories[type]))
            happening(onboarding);
      onboarding.polled(pollAt(stories, 120));

      expect(onboarding.settled).toBe(true);
      for (const source of onboardingSummary(onboarding.state).sources) {
        const truth = stories[source.type];
        expect(source).toMatchObject({
          outcome: truth.end,
          via: lost.includes(source.type) ? 'poll' : 'webhook',
          attempts: truth.failuresBefore + 1 + (truth.redriven ? 1 : 0),
        });
      }
    },
  );
});
