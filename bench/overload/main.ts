import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { startTestStack } from '../../test/support/stack.ts';
import { floodApart, type Observed, observe } from './flood.ts';

const program = new Command('npm run overload --')
  .description(
    'One account sends several times what the gateway can serve; /health, another account and the memory of the gateway are watched meanwhile.',
  )
  .option('--seconds <n>', 'duration of each flood', '30')
  .option(
    '--times <list>',
    'requests to send, in multiples of what is served',
    '2,5,10',
  )
  .option('--connections <n>', 'connections of the flood at most', '1000')
  .option(
    '--shared-connections-max <n>',
    'SHARED_CONNECTIONS_MAX of the gateway',
  )
  .parse();
const options = program.opts<{
  seconds: string;
  times: string;
  connections: string;
  sharedConnectionsMax?: string;
}>();
const print = (line: string) => void process.stdout.write(`${line}\n`);
/** Requests in progress while it is measured how many are served. */
const CAPACITY_CONNECTIONS = 8;
const CAPACITY_SECONDS = 10;
const QUIET_SECONDS = 15;

const dataDir = await mkdtemp(join(tmpdir(), 'overload-'));
const limits = {
  SHARED_CONNECTIONS_MAX: options.sharedConnectionsMax,
};
const gateway = Object.fromEntries(
  Object.entries(limits).filter(
    (each): each is [string, string] => each[1] !== undefined,
  ),
);
const stack = await startTestStack({ dataDir, environment: { gateway } });
try {
  const { baseUrl } = stack.connection;
  const greedy = await stack.addAccount();
  const other = await stack.addAccount();
  const slow = await stack.addAccount();
  const gatewayPid = stack.stack.pids().gateway;
  const watched = async (signal: AbortSignal): Promise<Watched> => {
    const cpuBefore = await cpuTimesOf(gatewayPid);
    const [health, account, memoryMb] = await Promise.all([
      observe(`${baseUrl}/health`, undefined, signal),
      observe(`${baseUrl}/medical/v1/facility`, other.apiKey, signal),
      memoryOf(gatewayPid, signal),
    ]);
    const cpuAfter = await cpuTimesOf(gatewayPid);
    return { health, account, memoryMb, cpu: shareOf(cpuBefore, cpuAfter) };
  };
  const load = () => (loadavg()[0] ?? 0).toFixed(1);
  const quiet = await watched(AbortSignal.timeout(QUIET_SECONDS * 1_000));
  print(`load of the machine ${load()}\nwithout a flood: ${described(quiet)}`);
  const target = { baseUrl, ...greedy };
  const alone = {
    target,
    connections: CAPACITY_CONNECTIONS,
    seconds: CAPACITY_SECONDS,
  };
  const capacity = (await floodApart(alone)).served / CAPACITY_SECONDS;
  print(
    `served over ${CAPACITY_CONNECTIONS} connections: ${capacity.toFixed(0)} a second`,
  );

  let isGood = true;
  for (const times of options.times.split(',').map(Number)) {
    const order = {
      target,
      connections: Number(options.connections),
      slowKey: slow.apiKey,
    };
    const seconds = Number(options.seconds);
    const [counts, busy] = await Promise.all([
      floodApart({ ...order, seconds, perSecond: times * capacity }),
      watched(AbortSignal.timeout(seconds * 1_000)),
    ]);
    const [stored] = await stack.rows<{ count: string }>(
      'select count(*) from patient where id = any($1::uuid[])',
      [counts.accepted],
    );
    const lost = counts.accepted.length - Number(stored?.count);
    isGood &&=
      lost === 0 && busy.account.failures === 0 && busy.health.failures === 0;
    const slower =
      Number(at(busy.account.ms, 0.95)) / Number(at(quiet.account.ms, 0.95));
    print(
      `${times} times what is served, load ${load()}: other account ${slower.toFixed(1)} times as slow (p95); ${described(busy)}; ` +
        `flood: ${(counts.served / seconds).toFixed(0)} a second served, ${(counts.refused / seconds).toFixed(0)} refused, ` +
        `${JSON.stringify(counts.failed)} otherwise; ${counts.accepted.length} patients accepted, ${lost} of them lost`,
    );
  }
  process.exitCode = isGood ? 0 : 1;
} finally {
  await stack.stop();
  await rm(dataDir, { recursive: true, force: true });
}

interface Watched {
  health: Observed;
  account: Observed;
  memoryMb: number[];
  cpu: { ran: number; waited: number };
}

function described({ account, health, memoryMb, cpu }: Watched): string {
  return (
    `other account p50 ${at(account.ms, 0.5)}, p95 ${at(account.ms, 0.95)} ms, failures ${account.failures}; ` +
    `/health p99 ${at(health.ms, 0.99)} ms, failures ${health.failures}; ` +
    `gateway ${memoryMb[0]} to ${memoryMb.at(-1)} MB, at most ${Math.max(...memoryMb)} MB, ` +
    `its event loop ran ${percent(cpu.ran)} and waited for a CPU ${percent(cpu.waited)} of the time`
  );
}

/** A quantile of sorted milliseconds. */
function at(sorted: readonly number[], share: number): string {
  return (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1);
}

/** Resident memory of a process, each second. */
async function memoryOf(
  pid: number | undefined,
  signal: AbortSignal,
): Promise<number[]> {
  const seen: number[] = [];
  while (!signal.aborted) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(
      () => '',
    );
    seen.push(Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024));
    await sleep(1_000);
  }
  return seen;
}

/**
 * What the main thread of a process has run, and waited for a CPU that other
 * processes used, until now.
 */
async function cpuTimesOf(
  pid: number | undefined,
): Promise<{ atMs: number; ranMs: number; waitedMs: number }> {
  // Linux; fields in nanoseconds. Elsewhere NaN.
  const text = await readFile(
    `/proc/${pid}/task/${pid}/schedstat`,
    'utf8',
  ).catch(() => '');
  const [ranNs, waitedNs] = text.split(' ').map(Number);
  return {
    atMs: performance.now(),
    ranMs: Number(ranNs ?? NaN) / 1e6,
    waitedMs: Number(waitedNs ?? NaN) / 1e6,
  };
}

type CpuTimes = Awaited<ReturnType<typeof cpuTimesOf>>;

function shareOf(before: CpuTimes, after: CpuTimes): Watched['cpu'] {
  const elapsedMs = after.atMs - before.atMs;
  return {
    ran: (after.ranMs - before.ranMs) / elapsedMs,
    waited: (after.waitedMs - before.waitedMs) / elapsedMs,
  };
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
