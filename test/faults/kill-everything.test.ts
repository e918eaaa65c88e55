import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemEnvironment } from '../../src/config.ts';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import { readConnection } from '../../src/local-stack/connection-file.ts';
import { killAndWait, testFolder } from '../support/postgres-tools.ts';
import { attachToStack, type StackAccess } from '../support/stack.ts';
import { readOutcome } from './kill/outcome.ts';
import { settle } from './kill/settle.ts';
import { runWorkload, SLOW_SOURCES } from './kill/workload.ts';

const MAIN = fileURLToPath(
  new URL('../../tools/embedded/main.ts', import.meta.url),
);
const IS_COLLECTING =
  "select from network_query_attempt where account_id = $1 and pages > 0 and status = 'running'";
const START_TIMEOUT_MS = 240_000;
const END_TIMEOUT_MS = 150_000;

/** `npm start` on a folder, until it can be reached. */
async function startMain(
  dataDir: string,
): Promise<{ main: ChildProcess; access: StackAccess }> {
  const main = spawn(process.execPath, [MAIN], {
    env: { ...systemEnvironment(), DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [main.stdout, main.stderr])
    stream?.on('data', (data) => (output += data));
  onTestFinished(async () => {
    if (main.exitCode !== null || main.signalCode !== null) return;
    main.kill('SIGTERM');
    await once(main, 'exit');
  });
  const ended = once(main, 'exit').then(() => {
    throw new Error(`npm start ended: ${output}`);
  });
  const ready = vi.waitFor(() => readConnection(dataDir), {
    timeout: START_TIMEOUT_MS,
    interval: 100,
  });
  const connection = await Promise.race([ready, ended]);
  // It is killed on purpose.
  ended.catch(() => undefined);
  const access = await attachToStack(dataDir, connection);
  onTestFinished(() => access.detach());
  return { main, access };
}

/**
 * Pids of all processes of a stack, by the data folder in their command lines.
 */
async function processesOf(dataDir: string): Promise<number[]> {
  const pids = (await readdir('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const lines = await Promise.all(
    pids.map(async (pid) => [pid, await commandLineOf(pid)] as const),
  );
  return lines
    .filter(([, line]) => line?.includes(dataDir))
    .map(([pid]) => pid);
}

const title =
  'carries work in progress on to its end after kill -9 of itself, then of every process at once';

// The processes are found in /proc.
describe.runIf(process.platform === 'linux')('npm start', () => {
  test(title, { timeout: 900_000 }, async () => {
    const dataDir = await testFolder();
    const { main, access } = await startMain(dataDir);
    const account = await access.addAccount();
    await access.simulator.changeSettings(SLOW_SOURCES);
    // Its callers try on while nobody answers, and get their answers from the
    // next stack.
    const workload = runWorkload(access, account, {
      timeoutMs: END_TIMEOUT_MS,
    });
    workload.catch(() => undefined);
    const untilCollecting = ({ rows }: StackAccess) =>
      vi.waitFor(
        async () =>
          expect(
            (await rows(IS_COLLECTING, [account.accountId])).length,
          ).toBeGreaterThan(0),
        { timeout: 240_000, interval: 20 },
      );
    await untilCollecting(access);
    await killAndWait(main);

    const second = await startMain(dataDir);
    await untilCollecting(second.access);
    const itself = killAndWait(second.main);
    for (const pid of await processesOf(dataDir)) process.kill(pid, 'SIGKILL');
    await itself;

    const next = await startMain(dataDir);
    await workload;
    expect(await settle(next.access, account, END_TIMEOUT_MS)).toEqual([]);
    const outcome = await readOutcome(next.access, account);
    const persons = Object.values(outcome);
    expect(persons.map(({ patients }) => patients)).toEqual([1, 1, 1, 1, 1, 1]);
    for (const { queries, resources } of persons) {
      expect(queries).toHaveLength(1);
      expect(queries[0]).toMatchObject({ status: 'completed', openRuns: 0 });
      expect(queries[0]?.attempts).toHaveLength(3);
      expect(
        queries[0]?.events.filter((event) => /\/1 delivered$/.test(event)),
      ).toHaveLength(3);
      expect(resources).toHaveLength(3);
    }
  });
});
