import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import color from 'picocolors';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { attachToStack, type StackAccess } from '../../test/support/stack.ts';
import { type Cluster, startCluster } from '../../tools/cluster/cluster.ts';
import type { ProxyRefusal } from '../../tools/cluster/proxy/refusals.ts';
import { cause } from './cluster/faults.ts';
import { type FaultTime, judgeRequests } from './cluster/judge-requests.ts';
import { importLargePanel } from './cluster/large-import.ts';
import { CLUSTER_FAULTS, planClusterFaults } from './cluster/plan.ts';
import { renderRun } from './mixed/reliability.ts';
import { type MixedRun, runDisturbed, runUndisturbed } from './mixed/run.ts';

export interface ClusterSoakOptions {
  minutes: string;
  seed: string;
  rows: string;
  json?: string;
  keep?: true;
}

const WAVES_AT_ONCE = 2;
const IMPORT_TIMEOUT_MS = 30 * 60_000;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/**
 * `npm run soak -- cluster`: mixed load and a large import while one of each
 * kind of process is killed and all are rolled.
 */
export async function soakCluster(options: ClusterSoakOptions): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-cluster-'));
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupted.abort());
  print(color.bold(`Starting the cluster in ${dataDir} …`));
  const refusals: ProxyRefusal[] = [];
  const faults: FaultTime[] = [];
  const cluster = await startCluster({
    dataDir,
    log: print,
    onRefusal: (refusal) => void refusals.push(refusal),
  });
  try {
    const stack = await attachToStack(dataDir, cluster.connection);
    const run = await runFaults(
      cluster,
      stack,
      faults,
      options,
      interrupted.signal,
    ).finally(() => stack.detach());
    const { requests, repeated, postponed, failed, abandoned } =
      cluster.requests;
    const judged = judgeRequests(refusals, faults);
    for (const line of judged.lines) print(`Requests refused ${line}`);
    run.losses.push(...judged.losses);
    for (const loss of run.losses) print(color.red(`✗ ${loss}`));
    const rows = [
      ['requests; repeated by the proxy', `${requests}; ${repeated}`],
      [
        'postponed (503 with Retry-After); left by the client; failed',
        `${postponed}; ${abandoned}; ${failed}`,
      ],
      ['rows imported meanwhile', options.rows],
    ] as const;
    print(
      renderRun(
        `npm run soak -- cluster --minutes ${options.minutes} --seed ${options.seed}`,
        run,
        rows,
      ),
    );
    if (options.json !== undefined)
      await writeFile(
        options.json,
        `${JSON.stringify({ ...run, requests: cluster.requests, faultTimes: faults, refusals }, undefined, 2)}\n`,
      );
    if (run.losses.length === 0)
      print(
        color.green('✓ No request failed; nothing lost, doubled or stuck.'),
      );
    process.exitCode = run.losses.length === 0 ? 0 : 1;
  } finally {
    await cluster.stop();
    if (options.keep !== true)
      await rm(dataDir, { recursive: true, force: true });
  }
}

async function runFaults(
  cluster: Cluster,
  stack: StackAccess,
  times: FaultTime[],
  options: ClusterSoakOptions,
  signal: AbortSignal,
): Promise<Omit<MixedRun, 'seed' | 'minutes'>> {
  const { facts } = await runUndisturbed(stack);
  if (facts.faults.length > 0)
    throw new Error(`the undisturbed wave failed: ${facts.faults.join('\n')}`);
  print(
    `An undisturbed wave: ${facts.queries} queries, ${facts.webhooks} webhooks`,
  );
  const importing = importLargePanel(stack, {
    rows: Number(options.rows),
    timeoutMs: IMPORT_TIMEOUT_MS,
  });
  const run = await runDisturbed(stack, {
    faults: planClusterFaults(seededRandom(Number(options.seed))),
    async cause(fault) {
      const time: FaultTime = {
        what: `${fault.kind} (${fault.target})`,
        beganAt: Date.now(),
      };
      times.push(time);
      await cause(cluster, fault);
      time.endedAt = Date.now();
    },
    endsWithinMs: Number(options.minutes) * 60_000,
    faultsMin: CLUSTER_FAULTS.length,
    wavesAtOnce: WAVES_AT_ONCE,
    usual: facts.records,
    signal,
    log: print,
  });
  run.losses.push(...(await importing));
  return run;
}
