import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readConnection } from '../../src/embedded/connection-file.ts';
import { killAndWait, testFolder } from '../support/postgres-tools.ts';
import { attachToStack, type StackAccess } from '../support/stack.ts';
import { readOutcome } from './kill/outcome.ts';
import { settle } from './kill/settle.ts';
import { runWorkload, SLOW_SOURCES } from './kill/workload.ts';

const MAIN = fileURLToPath(new URL('../../src/embedded/main.ts', import.meta.url));
const START_TIMEOUT_MS = 120_000;
const END_TIMEOUT_MS = 120_000;

/** `npm start` on a folder, until it can be reached. */
async function startMain(dataDir: string): Promise<{ main: ChildProcess; access: StackAccess }> {
  const main = spawn(process.execPath, ['--import', 'tsx', MAIN], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir },
    stdio: 'ignore',
    detached: true,
  });
  onTestFinished(async () => {
    if (main.exitCode !== null || main.signalCode !== null) return;
    main.kill('SIGTERM');
    await once(main, 'exit');
  });
  const connection = await vi.waitFor(() => readConnection(dataDir), {
    timeout: START_TIMEOUT_MS,
    interval: 100,
  });
  const access = await attachToStack(dataDir, connection);
  onTestFinished(() => access.detach());
  return { main, access };
}

describe('npm start', () => {
  it('carries work in progress on to its end after kill -9', { timeout: 300_000 }, async () => {
    const dataDir = await testFolder();
    const { main, access } = await startMain(dataDir);
    const account = await access.addAccount();
    await access.simulator.changeSettings(SLOW_SOURCES);
    // Its callers try on while nobody answers, and get their answers from the next stack.
    const workload = runWorkload(access, account, { timeoutMs: END_TIMEOUT_MS });
    workload.catch(() => undefined);
    const isCollecting = `select from network_query_attempt where account_id = $1 and pages > 0 and status = 'running'`;
    await vi.waitFor(
      async () => expect((await access.rows(isCollecting, [account.accountId])).length).toBeGreaterThan(0),
      { timeout: 30_000, interval: 20 },
    );
    await killAndWait(main);

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
      expect(queries[0]?.events.filter((event) => /\/1 delivered$/.test(event))).toHaveLength(3);
      expect(resources).toHaveLength(3);
    }
  });
});
