import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestLogEntry } from '../../../src/simulator/request-log.ts';
import { until } from '../../../test/faults/kill/until.ts';
import { SLOW_SOURCES } from '../../../test/faults/kill/workload.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { checkWave, type WaveFacts } from './check-wave.ts';
import { cause } from './faults.ts';
import type { MixedStack } from './mixed-stack.ts';
import { FAULT_KINDS, type PlannedFault, planFaults } from './plan.ts';
import { runWave, type Wave } from './wave.ts';

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
  /** Jobs that hie accepted; more than the queries, where it failed a job or a fault took its answer. */
  hieJobs: { accepted: number; queries: number };
  /** What is lost, doubled or stuck. */
  losses: string[];
}

const WAVES_AT_ONCE = 2;
/** Longer than the longest wait before a probe of a source that was away for minutes. */
const END_TIMEOUT_MS = 15 * 60_000;
const WEBHOOKS_TIMEOUT_MS = 10 * 60_000;

/** Puts mixed load on the stack while one fault after the other befalls it; then judges what came of all work. */
export async function runMixed(
  stack: MixedStack,
  options: { minutes: number; seed: number; signal: AbortSignal; log: (line: string) => void },
): Promise<MixedRun> {
  const { minutes, seed, signal, log } = options;
  await stack.simulator.changeSettings(SLOW_SOURCES);
  const undisturbed = await runWave(stack, 0, { timeoutMs: END_TIMEOUT_MS });
  await webhooksEnded(undisturbed);
  const usual = await checkWave(stack, undisturbed, await stack.received(), undefined);
  if (usual.faults.length > 0) throw new Error(`the undisturbed wave failed: ${usual.faults.join('\n')}`);
  const before = await stack.simulator.requests();
  log(`An undisturbed wave: ${usual.queries} queries, ${usual.webhooks} webhooks`);

  const startedAt = Date.now();
  const endsAt = startedAt + minutes * 60_000;
  const isOver = () => Date.now() > endsAt || signal.aborted;
  const losses: string[] = [];
  const waves: Wave[] = [];
  let started = 0;
  const load = Array.from({ length: WAVES_AT_ONCE }, async () => {
    while (!isOver()) {
      started += 1;
      const number = started;
      // It may outlive the faults.
      const wave = await runWave(stack, number, { timeoutMs: endsAt - Date.now() + END_TIMEOUT_MS }).catch(
        (error: unknown) =>
          void losses.push(`wave ${number}: ${error instanceof Error ? error.message : error}`),
      );
      if (wave !== undefined) waves.push(wave);
      log(`${since(startedAt)} wave ${number} has ended`);
    }
  });
  const caused = await causeFaults(stack, {
    seed,
    isOver,
    losses,
    log: (line) => log(`${since(startedAt)} ${line}`),
  });
  await Promise.all(load);
  const seconds = Math.round((Date.now() - startedAt) / 1_000);

  const facts: WaveFacts[] = [];
  for (const wave of waves) {
    await webhooksEnded(wave);
    facts.push(await checkWave(stack, wave, await stack.received(), usual.records));
  }
  losses.push(...facts.flatMap(({ faults }) => faults));
  const after = await stack.simulator.requests({ after: before.at(-1)?.seq ?? 0 });
  const hieJobs = { accepted: acceptedJobs(after), queries: sum(facts, ({ hieQueries }) => hieQueries) };
  return {
    seed,
    minutes,
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

/** One after the other; only a source that refuses everybody does so for minutes beside the others. */
async function causeFaults(
  stack: MixedStack,
  {
    seed,
    isOver,
    losses,
    log,
  }: { seed: number; isOver: () => boolean; losses: string[]; log: (line: string) => void },
): Promise<PlannedFault[]> {
  const caused: PlannedFault[] = [];
  let outage: Promise<void> = Promise.resolve();
  for (const fault of planFaults(seededRandom(seed))) {
    if (isOver()) break;
    const isLong = fault.kind === 'source refuses everybody';
    if (isLong) await outage;
    log(`${fault.kind}: ${fault.target}${fault.seconds > 0 ? `, ${fault.seconds} s` : ''}`);
    caused.push(fault);
    const done = cause(stack, fault).catch(
      (error: unknown) =>
        void losses.push(`${fault.kind} ${fault.target}: ${error instanceof Error ? error.message : error}`),
    );
    if (isLong) outage = done;
    else await done;
    await sleep(fault.pauseSeconds * 1_000);
  }
  await outage;
  return caused;
}

export const webhooksEnded = ({ caller }: Wave): Promise<boolean> =>
  until(async () => (await caller.get('settings/webhook')).pending === 0, {
    timeoutMs: WEBHOOKS_TIMEOUT_MS,
    everyMs: 500,
  });

const acceptedJobs = (log: readonly RequestLogEntry[]): number =>
  log.filter(
    ({ source, operation, status }) => source === 'hie' && operation === 'everything' && status === 202,
  ).length;

const countFaults = (caused: readonly PlannedFault[]): MixedRun['faults'] =>
  FAULT_KINDS.map((kind) => {
    const ofKind = caused.filter((fault) => fault.kind === kind);
    return { kind, times: ofKind.length, seconds: sum(ofKind, ({ seconds }) => seconds) };
  });

const since = (startedAt: number): string =>
  `${String(Math.round((Date.now() - startedAt) / 1_000)).padStart(5)} s`;

const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((total, item) => total + of(item), 0);
