import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { killPart } from '../../test/faults/kill/kill-part.ts';
import { settle } from '../../test/faults/kill/settle.ts';
import {
  type SeededRandom,
  seededRandom,
} from '../../test/support/seeded-random.ts';
import { startTestStack, type TestStack } from '../../test/support/stack.ts';
import { preparePatients } from '../query/run.ts';
import {
  type QueriesOutcome,
  readQueriesOutcome,
} from './job-queue/outcome.ts';
import {
  jobsOfPgBoss,
  ourWorkflow,
  type Variant,
} from './job-queue/variants.ts';

export interface JobQueueSoakOptions {
  queries: string;
  kills: string;
  seed: string;
  part: string;
  minutes: string;
  json?: true;
}

export const KILLED = ['process', 'PostgreSQL'] as const;
type Killed = (typeof KILLED)[number];

/**
 * Slow sources with small pages, so that most kills hit a step. Jobs have no
 * waits, so all sources answer at once.
 */
const SOURCES = {
  hie: { async: false, callback: false, latencyMs: 150, pageSize: 40 },
  pharmacy: { latencyMs: 150, pageSize: 15 },
  lab: { latencyMs: 150, pageSize: 25 },
};
const SAMPLE = 'keith-kiehn';
/** After a start, the next kill. */
const PAUSE_MS = { from: 500, to: 4_000 };

interface Run extends QueriesOutcome {
  variant: string;
  /** From the first order to the end of the last query and webhook. */
  seconds: number;
  kills: Killed[];
  /** What was still open when the time was over. */
  stuck: string[];
}

/**
 * `npm run soak -- job-queue`: the same queries by our workflow and as jobs of
 * pg-boss, undisturbed and killed.
 */
export async function soakJobQueue(
  options: JobQueueSoakOptions,
): Promise<void> {
  const queries = Number(options.queries);
  const kills = Number(options.kills);
  const parts = KILLED.filter(
    (part) => options.part === 'all' || options.part === part,
  );
  const timeoutMs = Number(options.minutes) * 60_000;
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-soak-'));
  const stack = await startTestStack({ dataDir });
  const variants: Variant[] = [];
  const runs: Run[] = [];
  try {
    await stack.simulator.changeSettings(SOURCES);
    variants.push(ourWorkflow(stack), await jobsOfPgBoss(stack, queries));
    for (const count of [0, kills])
      for (const variant of variants) {
        // The same kills at the same times for both.
        const random = seededRandom(Number(options.seed));
        const planned = Array.from({ length: count }, () => random.pick(parts));
        const run = await runOnce(stack, variant, {
          queries,
          planned,
          random,
          timeoutMs,
        });
        runs.push(run);
        process.stderr.write(`${describe(run)}\n`);
      }
  } finally {
    for (const variant of variants) await variant.stop();
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
  if (options.json === true)
    process.stdout.write(`${JSON.stringify({ options, runs })}\n`);
  const isFaulty = (run: Run) =>
    run.stuck.length > 0 ||
    run.statuses.completed !== queries ||
    run.webhooks.lost > 0;
  // Only ours is ours to mend.
  process.exitCode = runs.some(
    (run) => run.variant === variants[0]?.name && isFaulty(run),
  )
    ? 1
    : 0;
}

async function runOnce(
  stack: TestStack,
  variant: Variant,
  {
    queries,
    planned,
    random,
    timeoutMs,
  }: {
    queries: number;
    planned: readonly Killed[];
    random: SeededRandom;
    timeoutMs: number;
  },
): Promise<Run> {
  const { access, store } = variant;
  const account = await access.addAccount();
  const patients = await preparePatients(
    { exchange: { store }, account },
    SAMPLE,
    queries,
  );
  const seenBefore = (await stack.simulator.requests()).at(-1)?.seq ?? 0;
  const begunAt = Date.now();
  const started = Promise.all(
    patients.map((patientId) =>
      variant.startQuery({ ...account, patientId }, begunAt + timeoutMs),
    ),
  );
  // Judged below; until then its failure is not unhandled.
  started.catch(() => undefined);
  for (const part of planned) {
    await sleep(random.between(PAUSE_MS.from, PAUSE_MS.to));
    if (part === 'process') await variant.killProcesses();
    else await killPart(stack, 'PostgreSQL');
  }
  await started;
  const stuck = await settle(access, account, timeoutMs);
  const seconds = (Date.now() - begunAt) / 1000;
  const outcome = await readQueriesOutcome(access, account, seenBefore);
  return {
    ...outcome,
    variant: variant.name,
    seconds,
    kills: [...planned],
    stuck,
  };
}

function describe({
  variant,
  seconds,
  kills,
  stuck,
  statuses,
  ...run
}: Run): string {
  const { patients, webhooks, sources } = run;
  const ended = Object.entries(statuses).map(
    ([status, count]) => `${count} ${status}`,
  );
  return [
    `${variant}, ${kills.length} kills (${kills.join(', ')}): ${seconds.toFixed(0)} s`,
    `  ${ended.join(', ')}; patients without a query ${patients.without}, with several ${patients.several}; different records ${run.differentRecords}`,
    `  webhooks: ${webhooks.events}, lost ${webhooks.lost}, repeated ${webhooks.repeated}; sources: asked ${sources.begun} times, ${sources.all} requests`,
    ...stuck.map((each) => `  stuck: ${each}`),
  ].join('\n');
}
