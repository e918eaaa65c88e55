import type { RequestLogEntry } from '../../../tools/simulator/request-log.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import type { StackAccount, TestStack } from '../../support/stack.ts';
import {
  checkAnswers,
  checkOutcome,
  checkPromised,
  checkSources,
  checkWebhooks,
  expectedIn,
} from './check.ts';
import { createHolds, type Killable } from './holds.ts';
import { killPart } from './kill-part.ts';
import { type PersonOutcome, readOutcome } from './outcome.ts';
import { badlyEnded, settle } from './settle.ts';
import type { PlannedKill } from './windows.ts';
import {
  FAILS_ITS_FIRST_JOB,
  FAULTS_OF_SOURCES,
  runWorkload,
  SLOW_SOURCES,
  type Workload,
} from './workload.ts';

/** From the kill on: everything must have ended by then. */
const END_TIMEOUT_MS = 240_000;

export interface RoundReport {
  account: StackAccount;
  part?: Killable;
  window?: string;
  /** The kill fell into the window. */
  hit: boolean;
  /** Until everything had ended; since the kill, where there was one. */
  seconds: number;
  /** Calls that got no answer and were made again. */
  unanswered: number;
  /** Webhooks that came more than once, under the same message id. */
  repeats: number;
  outcome: Record<string, PersonOutcome>;
  requests: RequestLogEntry[];
  faults: string[];
}

/**
 * An undisturbed run, and what all others are compared with. Throws when it is
 * not as it must be itself.
 */
export async function runUndisturbed(stack: TestStack): Promise<RoundReport> {
  const report = await runRound(stack);
  const queries = Object.values(report.outcome).flatMap(
    (person) => person.queries,
  );
  if (queries.length !== 6)
    report.faults.push(`6 queries expected, got ${queries.length}`);
  if (report.faults.length > 0)
    throw new Error(`the undisturbed run failed: ${report.faults.join('\n')}`);
  return report;
}

/**
 * Brings six persons into a fresh account, kills one part at the planned moment
 * and judges what comes of it.
 */
export async function runRound(
  stack: TestStack,
  kill?: PlannedKill,
  undisturbed?: RoundReport,
): Promise<RoundReport> {
  const account = await stack.addAccount();
  await stack.simulator.changeSettings(SLOW_SOURCES);
  await stack.simulator.setRules(FAULTS_OF_SOURCES);
  const seenBefore = (await stack.simulator.requests()).at(-1)?.seq ?? 0;

  const holds = createHolds(stack);
  let workload: Promise<Workload> | undefined;
  let hit = false;
  let since = Date.now();
  try {
    const scene = {
      stack,
      account,
      holds,
      random: seededRandom(kill?.seed ?? 0),
    };
    await kill?.window.prepare?.(scene);
    workload = runWorkload(stack, account, { timeoutMs: END_TIMEOUT_MS });
    // Judged below; until then its failure is not unhandled.
    workload.catch(() => undefined);
    if (kill !== undefined) {
      hit = await kill.window.reached(scene);
      since = Date.now();
      await killPart(stack, kill.part, () => holds.releaseAll());
    }
  } finally {
    await holds.releaseAll();
  }

  const faults: string[] = [];
  const done = await workload.catch((error: unknown): Workload => {
    faults.push(error instanceof Error ? error.message : String(error));
    return { calls: [], onboardings: [] };
  });
  faults.push(
    ...(await settle(
      stack,
      account,
      Math.max(END_TIMEOUT_MS - (Date.now() - since), 5_000),
    )),
  );
  const seconds = Math.round((Date.now() - since) / 100) / 10;

  faults.push(...(await checkAnswers(stack, account, done)));
  const outcome = await readOutcome(stack, account);
  const requests = await stack.simulator.requests({ after: seenBefore });
  const webhooks = await checkWebhooks(stack, account);
  faults.push(
    ...(await checkPromised(stack, account, done)),
    ...webhooks.faults,
  );
  faults.push(...(await badlyEnded(stack, account)));
  for (const { sample, summary } of done.onboardings)
    if (summary.status !== 'completed')
      faults.push(`onboarding of ${sample}: ${summary.status}`);
  if (undisturbed !== undefined) {
    faults.push(
      ...checkOutcome(
        expectedIn(FAILS_ITS_FIRST_JOB, undisturbed.outcome, requests),
        outcome,
      ),
    );
    faults.push(...checkSources(undisturbed.requests, requests));
  }
  const unanswered = done.calls.reduce((sum, call) => sum + call.unanswered, 0);
  const { repeats } = webhooks;
  return {
    account,
    part: kill?.part,
    window: kill?.window.name,
    hit,
    seconds,
    unanswered,
    repeats,
    outcome,
    requests,
    faults,
  };
}
