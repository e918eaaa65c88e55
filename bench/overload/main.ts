import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { startTestStack } from '../../test/support/stack.ts';
import { flood, observe } from './flood.ts';

const program = new Command('npm run overload --')
  .description(
    'One account floods a stack; /health, another account and the memory of the gateway are watched meanwhile.',
  )
  .option('--seconds <n>', 'duration of the flood', '60')
  .option('--connections <n>', 'connections of the flood', '500')
  .option('--account-requests-max <n>', 'ACCOUNT_REQUESTS_MAX of the gateway')
  .parse();
const options = program.opts<{ seconds: string; connections: string; accountRequestsMax?: string }>();
const print = (line: string) => void process.stdout.write(`${line}\n`);

const dataDir = await mkdtemp(join(tmpdir(), 'overload-'));
const limit = options.accountRequestsMax;
const stack = await startTestStack({
  dataDir,
  environment: limit === undefined ? {} : { gateway: { ACCOUNT_REQUESTS_MAX: limit } },
});
try {
  const { baseUrl } = stack.connection;
  const [greedy, other] = [await stack.addAccount(), await stack.addAccount()];
  const gatewayPid = stack.stack.pids().gateway;
  const watched = async (signal: AbortSignal) => {
    const [health, account, memoryMb] = await Promise.all([
      observe(`${baseUrl}/health`, undefined, signal),
      observe(`${baseUrl}/medical/v1/facility`, other.apiKey, signal),
      memoryOf(gatewayPid, signal),
    ]);
    return { health, account, memoryMb };
  };
  const loadBefore = loadavg()[0] ?? 0;
  const quiet = await watched(AbortSignal.timeout(15_000));
  const signal = AbortSignal.timeout(Number(options.seconds) * 1_000);
  const [counts, busy] = await Promise.all([
    flood({ baseUrl, ...greedy }, Number(options.connections), signal),
    watched(signal),
  ]);
  const [stored] = await stack.rows<{ count: string }>(
    'select count(*) from patient where id = any($1::uuid[])',
    [counts.accepted],
  );
  const lost = counts.accepted.length - Number(stored?.count);

  print(`load average ${loadBefore.toFixed(1)} before, ${(loadavg()[0] ?? 0).toFixed(1)} at the end`);
  for (const [name, { health, account, memoryMb }] of Object.entries({ quiet, busy })) {
    print(
      `${name}: other account p50 ${at(account.ms, 0.5)}, p95 ${at(account.ms, 0.95)}, failures ${account.failures}; ` +
        `/health p99 ${at(health.ms, 0.99)}, failures ${health.failures}; gateway ${memoryMb[0]} to ${memoryMb.at(-1)} MB, at most ${Math.max(...memoryMb)} MB`,
    );
  }
  print(
    `other account, p95: ${(Number(at(busy.account.ms, 0.95)) / Number(at(quiet.account.ms, 0.95))).toFixed(1)} times`,
  );
  print(
    `flood: ${counts.served} served, ${counts.refused} refused, ${JSON.stringify(counts.failed)} otherwise; ` +
      `${counts.accepted.length} patients accepted, ${lost} of them lost`,
  );
  process.exitCode = lost === 0 && busy.account.failures === 0 && busy.health.failures === 0 ? 0 : 1;
} finally {
  await stack.stop();
  await rm(dataDir, { recursive: true, force: true });
}

/** A quantile of sorted milliseconds. */
function at(sorted: readonly number[], share: number): string {
  return (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1);
}

/** Resident memory of a process, each second. */
async function memoryOf(pid: number | undefined, signal: AbortSignal): Promise<number[]> {
  const seen: number[] = [];
  while (!signal.aborted) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    seen.push(Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024));
    await sleep(1_000);
  }
  return seen;
}
