import { ApplicationFailure } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { SourceStepInput } from '../../src/contract/network-query-workflow.ts';
import { ada } from '../support/ada.ts';
import {
  bundle,
  connect,
  FakeSource,
  knowsAda,
  type Routes,
} from '../support/fake-source.ts';
import { queryTest } from '../support/fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { propertyOf } from '../support/property.ts';

const SECOND = 1_000;
/** Less than Temporal gives a step, and enough for the longest of these. */
const STEP_MS_MAX = 8 * 60 * SECOND;

/** A source each of whose answers takes as long as the test says. */
const test = queryTest.extend('slow', async ({ account }) => {
  let nowMs = Date.now();
  let delayMs = (): number => 0;
  const source = await new FakeSource().start();
  /** Serves these, everything else that is searched is empty. */
  const serve = (routes: Routes, delayOf: () => number) => {
    delayMs = delayOf;
    source.replyToOthers = { json: bundle([]) };
    source.serve(
      Object.fromEntries(
        Object.entries({ ...knowsAda, ...routes }).map(([name, route]) => [
          name,
          (asked) => {
            nowMs += delayMs();
            return typeof route === 'function' ? route(asked) : route;
          },
        ]),
      ),
    );
  };
  const clock = { now: () => nowMs };
  const connector = connect(source, { source: 'hie' }, { clock });
  const activities = account.activities(connector, {
    clock: () => new Date(nowMs),
  });

  /** Runs steps as Temporal does. Returns how long each took. */
  async function runSteps(step: SourceStepInput): Promise<number[]> {
    const tookMs: number[] = [];
    for (;;) {
      const begunMs = nowMs;
      const end = await runActivity(activities.collectSource, step).catch(
        (error: unknown) => error,
      );
      tookMs.push(nowMs - begunMs);
      const goesOn =
        end instanceof ApplicationFailure && end.type === 'SourceSlow';
      if (goesOn) continue;
      expect(end).toMatchObject({ state: 'completed' });
      return tookMs;
    }
  }
  const addPatient = () => account.addPatient({}, ada);
  async function query(patientId: string) {
    source.asked.splice(0);
    const requestId = await account.addQuery(patientId, ['hie']);
    const tookMs = await runSteps(account.step(requestId, 'hie'));
    return { requestId, tookMs };
  }
  /** How often each path was read. */
  const reads = (start: string) =>
    source.askedFor(`GET ${start}`).map(({ path }) => path);
  return { serve, addPatient, query, reads, outcome: account.outcome };
});

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
const document = (n: number) => ({
  resourceType: 'DocumentReference',
  id: `d${n}`,
  status: 'current',
  subject: { reference: 'Patient/p1' },
  content: [{ attachment: { contentType: 'text/plain', url: `Binary/d${n}` } }],
});
const organization = (n: number) => ({
  resourceType: 'Organization',
  id: `o${n}`,
});
const observation = (n: number) => ({
  resourceType: 'Observation',
  id: `x${n}`,
  status: 'final',
  code: { text: 'Glucose' },
  subject: { reference: 'Patient/p1' },
});

/** A source without $everything, which reads one by one. */
function searched(counts: {
  documents: number;
  organizations: number;
  observations: number;
}): Routes {
  const performer = numbers(counts.organizations).map((n) => ({
    reference: `Organization/o${n}`,
  }));
  const report = {
    resourceType: 'DiagnosticReport',
    id: 'r1',
    status: 'final',
    code: { text: 'Panel' },
    subject: { reference: 'Patient/p1' },
    performer,
  };
  const files = numbers(counts.documents).map((n) => [
    `GET Binary/d${n}`,
    { text: `file ${n}`, headers: { 'content-type': 'text/plain' } },
  ]);
  const organizations = numbers(counts.organizations).map((n) => [
    `GET Organization/o${n}`,
    { json: organization(n) },
  ]);
  return {
    'GET metadata': { status: 404 },
    'GET Patient/p1/$everything': { status: 404 },
    'POST DocumentReference/_search': {
      json: bundle(numbers(counts.documents).map(document)),
    },
    'POST DiagnosticReport/_search': { json: bundle([report]) },
    'POST Observation/_search': {
      json: bundle(numbers(counts.observations).map(observation)),
    },
    ...Object.fromEntries([...files, ...organizations]),
  };
}

describe('a slow source', () => {
  test('of 60 documents, each of 13 s, is collected: no step takes long, and no document is fetched twice', async ({
    slow,
  }) => {
    slow.serve(
      searched({ documents: 60, organizations: 0, observations: 0 }),
      () => 13 * SECOND,
    );
    const { requestId, tookMs } = await slow.query(await slow.addPatient());
    expect(new Set(slow.reads('Binary/')).size).toBe(60);
    expect(slow.reads('Binary/')).toHaveLength(60);
    expect(tookMs.length).toBeGreaterThan(3);
    expect(Math.max(...tookMs)).toBeLessThan(STEP_MS_MAX);
    const { attempts } = await slow.outcome(requestId);
    expect(attempts).toMatchObject([{ status: 'completed', documents: 60 }]);
  });

  const delays = propertyOf(
    [
      fc.array(fc.integer({ min: 0, max: 29 }), { minLength: 1, maxLength: 9 }),
      fc.array(fc.constantFrom('kept', 'deleted'), {
        minLength: 8,
        maxLength: 8,
      }),
    ],
    {
      numRuns: 3,
      examples: [[[29], numbers(8).map(() => 'kept')]],
    },
  );
  test(
    delays.named(
      'however its delays are mixed: each document, read and check is made once, in steps that end',
    ),
    ({ slow }) =>
      delays.holds(async (seconds, fates) => {
        let asked = 0;
        const delayOf = () => (seconds[asked++ % seconds.length] ?? 0) * SECOND;
        const counts = { documents: 9, organizations: 9, observations: 8 };
        slow.serve(searched(counts), delayOf);
        const patientId = await slow.addPatient();
        const first = await slow.query(patientId);
        expect(slow.reads('Binary/')).toHaveLength(9);
        expect(slow.reads('Organization/')).toHaveLength(9);

        const checks = fates.map((fate, n) => [
          `GET Observation/x${n}`,
          fate === 'kept' ? { json: observation(n) } : { status: 410 },
        ]);
        slow.serve(
          {
            ...searched({ documents: 0, organizations: 0, observations: 0 }),
            ...Object.fromEntries(checks),
          },
          delayOf,
        );
        const second = await slow.query(patientId);
        expect(slow.reads('Observation/')).toHaveLength(8);
        const deleted = fates.filter((fate) => fate === 'deleted').length;
        const { resources } = await slow.outcome(second.requestId);
        const left = resources.filter(({ source_id }) =>
          source_id.startsWith('x'),
        );
        expect(left).toHaveLength(8 - deleted);
        const tookMs = [...first.tookMs, ...second.tookMs];
        expect(Math.max(...tookMs)).toBeLessThan(STEP_MS_MAX);
      }),
  );
});

test('a step for which no calls are left waits outside, says so, and calls nothing', async ({
  account,
}) => {
  const requestId = await account.addQuery(await account.addPatient(), ['lab']);
  const { askSource } = account.activities({ waitToBeginMs: () => 40_000 });
  const step = account.step(requestId, 'lab');
  expect(await runActivity(askSource, step)).toMatchObject({
    state: 'waiting',
    retryAfterMs: 40_000,
    held: { reason: 'the calls it allows us are used up for now' },
  });
  const told = (await account.timeline(requestId)).map(
    ({ message }) => message,
  );
  expect(told).toContainEqual(
    expect.stringContaining('the calls it allows us are used up for now'),
  );
});
