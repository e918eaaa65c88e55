import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../test/faults/kill/until.ts';
import { SLOW_SOURCES } from '../../../test/faults/kill/workload.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import type { StackAccess } from '../../../test/support/stack.ts';
import type { RequestLogEntry } from '../../../tools/simulator/request-log.ts';
import { hasQueryEnded } from './careful-caller.ts';
import { checkWave, type RecordSizes, type WaveFacts } from './check-wave.ts';
import { cause } from './faults.ts';
import type { MixedStack } from './mixed-stack.ts';
import { type Fault, planFaults } from './plan.ts';
import { runWave, type Wave } from './wave.ts';
import { webhooksEnded } from './webhooks-ended.ts';

export interface MixedRun {
  seed: number;
  minutes: number;
  /** Until all work had ended. */
  seconds: number;
  faults: { kind: string; times: number; seconds: number }[];
  waves: number;
  calls: { answered: number; unanswered: number };
  queries: number;
  webhooks: { messages: number; repeats: number };
  /**
   * Jobs that hie accepted; more than the queries, where it failed a job or a
   * fault took its answer.
   */
  hieJobs: { accepted: number; queries: number };
  /** What is lost, doubled or stuck. */
  losses: string[];
}

const WAVES_AT_ONCE = 2;
/**
 * Longer than the longest wait before a probe of a source that was away for
 * minutes.
 */
const END_TIMEOUT_MS = 15 * 60_000;

/**
 * Puts mixed load on the stack while one fault after the other befalls it; then
 * judges what came of all work.
 */
export async function runMixed(
  stack: MixedStack,
  options: {
    minutes: number;
    seed: number;
    signal: AbortSignal;
    log: (line: string) => void;
  },
): Promise<MixedRun> {
  const { minutes, seed, signal, log } = options;
  const { facts } = await runUndisturbed(stack);
  if (facts.faults.length > 0)
    throw new Error(`the undisturbed wave failed: ${facts.faults.join('\n')}`);
  log(
    `An undisturbed wave: ${facts.queries} queries, ${facts.webhooks} webhooks`,
  );
  const run = await runDisturbed(stack, {
    faults: planFaults(seededRandom(seed)),
    cause: (fault) => cause(stack, fault),
    endsWithinMs: minutes * 60_000,
    wavesAtOnce: WAVES_AT_ONCE,
    usual: facts.records,
    signal,
    log,
  });
  return { seed, minutes, ...run };
}

/** A wave without faults, and what came of it. */
export async function runUndisturbed(
  stack: StackAccess,
): Promise<{ wave: Wave; facts: WaveFacts }> {
  await stack.simulator.changeSettings(SLOW_SOURCES);
  const wave = await runWave(stack, 0, { timeoutMs: END_TIMEOUT_MS });
  await queriesEnded(wave);
  const stuck = await webhooksEnded(stack, wave);
  const facts = await checkWave(stack, wave, await stack.received(), undefined);
  return { wave, facts: { ...facts, faults: [...stuck, ...facts.faults] } };
}

export interface Disturbance<F extends Fault> {
  /**
   * One after the other, until there are no more or the time is over. Waves
   * begin until then.
   */
  faults: Iterable<F>;
  /**
   * Does the fault, and undoes it after its time. Rejects when a part does not
   * come back.
   */
  cause: (fault: F) => Promise<void>;
  endsWithinMs: number;
  /** So many faults befall it even if that takes longer; default 0. */
  faultsMin?: number;
  wavesAtOnce: number;
  /** The records after an undisturbed wave. */
  usual: RecordSizes;
  signal?: AbortSignal;
  log: (line: string) => void;
}

/** Waves while faults befall the stack, and what came of them. */
export async function runDisturbed<F extends Fault>(
  stack: StackAccess,
  {
    faults,
    cause,
    endsWithinMs,
    faultsMin = 0,
    wavesAtOnce,
    usual,
    signal,
    log,
  }: Disturbance<F>,
): Promise<Omit<MixedRun, 'seed' | 'minutes'>> {
  const before = await stack.simulator.requests();
  const startedAt = Date.now();
  const endsAt = startedAt + endsWithinMs;
  let allCaused = false;
  const caused: F[] = [];
  const isOver = () =>
    signal?.aborted === true ||
    (Date.now() > endsAt && caused.length >= faultsMin);
  const losses: string[] = [];
  const waves: Wave[] = [];
  let started = 0;
  const load = Array.from({ length: wavesAtOnce }, async () => {
    while (!allCaused && !isOver()) {
      started += 1;
      const number = started;
      // It may outlive the faults.
      const wave = await runWave(stack, number, {
        timeoutMs: endsAt - Date.now() + END_TIMEOUT_MS,
      }).catch(
        (error: unknown) =>
          void losses.push(
            `wave ${number}: ${error instanceof Error ? error.message : error}`,
          ),
      );
      if (wave !== undefined) waves.push(wave);
      log(`${since(startedAt)} wave ${number} has ended`);
    }
  });
  await causeFaults({
    caused,
    faults,
    cause,
    isOver,
    losses,
    log: (line) => log(`${since(startedAt)} ${line}`),
  });
  allCaused = true;
  await Promise.all(load);
  await Promise.all(waves.map(queriesEnded));
  const seconds = Math.round((Date.now() - startedAt) / 1_000);

  const facts: WaveFacts[] = [];
  for (const wave of waves) {
    losses.push(...(await webhooksEnded(stack, wave)));
    facts.push(await checkWave(stack, wave, await stack.received(), usual));
  }
  losses.push(...facts.flatMap(({ faults }) => faults));
  const after = await stack.simulator.requests({
    after: before.at(-1)?.seq ?? 0,
  });
  const hieJobs = {
    accepted: acceptedJobs(after),
    queries: sum(facts, ({ hieQueries }) => hieQueries),
  };
  return {
    seconds,
    faults: countFaults(caused),
    waves: started,
    calls: {
      answered: sum(waves, ({ caller }) => caller.counts.answered),
      unanswered: sum(waves, ({ caller }) => caller.counts.unanswered),
    },
    queries: sum(facts, ({ queries }) => queries),
    webhooks: {
      messages: sum(facts, ({ webhooks }) => webhooks),
      repeats: sum(facts, ({ repeats }) => repeats),
    },
    hieJobs,
    losses,
  };
}

/**
 * One after the other; only a source that refuses everybody does so for minutes
 * beside the others.
 */
async function causeFaults<F extends Fault>({
  caused,
  faults,
  cause,
  isOver,
  losses,
  log,
}: Pick<Disturbance<F>, 'faults' | 'cause' | 'log'> & {
  caused: F[];
  isOver: () => boolean;
  losses: string[];
}): Promise<void> {
  let outage: Promise<void> = Promise.resolve();
  for (const fault of faults) {
    if (isOver()) break;
    const isLong = fault.kind === 'source refuses everybody';
    if (isLong) await outage;
    log(
      `${fault.kind}: ${fault.target}${fault.seconds > 0 ? `, ${fault.seconds} s` : ''}`,
    );
    caused.push(fault);
    const done = cause(fault).catch(
      (error: unknown) =>
        void losses.push(
          `${fault.kind} ${fault.target}: ${error instanceof Error ? error.message : error}`,
        ),
    );
    if (isLong) outage = done;
    else await done;
    await sleep(fault.pauseSeconds * 1_000);
  }
  await outage;
}

/**
 * Also the queries that nothing in the wave waits for. What has not ended in
 * time is a loss that `checkWave` reports.
 */
const queriesEnded = ({ caller }: Wave): Promise<boolean> =>
  until(
    async () =>
      (await caller.get('network/query?count=500')).queries.every(
        hasQueryEnded,
      ),
    {
      timeoutMs: END_TIMEOUT_MS,
      everyMs: 500,
    },
  );

const acceptedJobs = (log: readonly RequestLogEntry[]): number =>
  log.filter(
    ({ source, operation, status }) =>
      source === 'hie' && operation === 'everything' && status === 202,
  ).length;

const countFaults = (caused: readonly Fault[]): MixedRun['faults'] =>
  [...new Set(caused.map(({ kind }) => kind))].sort().map((kind) => {
    const ofKind = caused.filter((fault) => fault.kind === kind);
    return {
      kind,
      times: ofKind.length,
      seconds: sum(ofKind, ({ seconds }) => seconds),
    };
  });

const since = (startedAt: number): string =>
  `${String(Math.round((Date.now() - startedAt) / 1_000)).padStart(5)} s`;

const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((total, item) => total + of(item), 0);
