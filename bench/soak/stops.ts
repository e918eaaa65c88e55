import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import color from 'picocolors';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import { clearFolder, processesOf } from '../../test/support/processes-of.ts';
import { seededRandom } from '../../test/support/seeded-random.ts';

export interface StopSoakOptions {
  rounds: string;
  what: string;
  seed: string;
}

/**
 * What is started, how long it runs at most before it is stopped, and whether
 * its folder must be gone.
 */
const COMMANDS: Record<
  string,
  { args: string[]; secondsMax: number; leavesData: boolean }
> = {
  test: {
    args: ['run', 'test:system', '--', 'test/system/embedded-stack.test.ts'],
    secondsMax: 45,
    leavesData: false,
  },
  demo: { args: ['run', 'demo'], secondsMax: 40, leavesData: false },
  start: { args: ['start'], secondsMax: 25, leavesData: true },
};

/**
 * After `kill -9`, the demo and `npm start` leave what the next start takes up;
 * a test run clears up even then.
 */
const STOPS: Record<
  string,
  { of?: 'test'; stop: (child: ChildProcess, folder: string) => Promise<void> }
> = {
  'Ctrl-C': { stop: async ({ pid = 0 }) => void process.kill(-pid, 'SIGINT') },
  'SIGINT to npm': { stop: async (child) => void child.kill('SIGINT') },
  'SIGTERM to npm': { stop: async (child) => void child.kill('SIGTERM') },
  'SIGTERM to vitest': {
    of: 'test',
    stop: (_, folder) => signalVitest(folder, 'SIGTERM'),
  },
  'kill -9 of vitest': {
    of: 'test',
    stop: (_, folder) => signalVitest(folder, 'SIGKILL'),
  },
};

const CLEARED_WITHIN_MS = 60_000;
/** The cache of Node.js, which later runs use again. */
const CACHES = /^node-compile-cache$/;

/**
 * `npm run soak -- stops`: stops a command at random moments; afterwards no
 * process and no folder may be left.
 */
export async function soakStops(
  options: StopSoakOptions,
  refuse: (why: string) => never,
): Promise<void> {
  const command =
    COMMANDS[options.what] ??
    refuse(`--what is one of ${Object.keys(COMMANDS).join(', ')}`);
  const random = seededRandom(Number(options.seed));
  const stops = Object.entries(STOPS).filter(
    ([, { of }]) => of === undefined || of === options.what,
  );
  let isInterrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => (isInterrupted = true));
  let clean = 0;
  for (
    let round = 1;
    round <= Number(options.rounds) && !isInterrupted;
    round++
  ) {
    const folder = await mkdtemp(join(tmpdir(), 'exchange-stops-'));
    await mkdir(join(folder, 'tmp'));
    const child = spawn('npm', command.args, {
      env: {
        ...process.env,
        TMPDIR: join(folder, 'tmp'),
        DATA_DIR: join(folder, 'data'),
      },
      detached: true,
      stdio: 'ignore',
    });
    const afterMs = random.between(200, command.secondsMax * 1_000);
    const [name, { stop }] = random.pick(stops);
    await sleep(afterMs);
    await stop(child, folder).catch(() => undefined);
    const left = await whatIsLeft(folder, command.leavesData);
    if (left.length === 0) clean++;
    const verdict =
      left.length === 0
        ? color.green('nothing left')
        : color.red(`left: ${left.join(', ')}`);
    process.stdout.write(
      `${round}. ${name} after ${(afterMs / 1_000).toFixed(1)} s: ${verdict}\n`,
    );
    await clearFolder(folder);
    await rm(folder, { recursive: true, force: true });
  }
  process.stdout.write(
    `${options.what}: nothing was left in ${clean} of ${options.rounds} rounds\n`,
  );
  process.exitCode = clean === Number(options.rounds) ? 0 : 1;
}

/** Waits until nothing is left, and returns what still is. */
async function whatIsLeft(
  folder: string,
  leavesData: boolean,
): Promise<string[]> {
  const look = async () => {
    const processes = await Promise.all(
      (await processesOf(folder)).map((pid) => commandLineOf(pid)),
    );
    const files = (await readdir(join(folder, 'tmp'))).filter(
      (name) => !CACHES.test(name),
    );
    return [
      ...processes.map((line) => line ?? 'a process'),
      ...(leavesData ? [] : files),
    ];
  };
  let left = await look();
  for (
    const until = Date.now() + CLEARED_WITHIN_MS;
    left.length > 0 && Date.now() < until;
    left = await look()
  )
    await sleep(500);
  return left;
}

async function signalVitest(
  folder: string,
  signal: NodeJS.Signals,
): Promise<void> {
  for (const pid of await processesOf(folder))
    if (
      /^node \(vitest\)|^\S*node \S*vitest/.test(
        (await commandLineOf(pid)) ?? '',
      )
    )
      process.kill(pid, signal);
}
