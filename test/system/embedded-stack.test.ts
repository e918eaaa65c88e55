import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import { systemEnvironment } from '../../src/config.ts';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import {
  NoStackError,
  readConnection,
  type StackConnection,
} from '../../src/local-stack/connection-file.ts';
import { type Stack, startStack } from '../../tools/embedded/stack.ts';
import { newPerson } from '../support/gateway.ts';
import {
  killAndWait,
  querySql,
  testFolder,
} from '../support/postgres-tools.ts';
import {
  callGateway,
  startTestStack,
  type TestStack,
} from '../support/stack.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { describeNeighbours, makeTooOpen } from './neighbours.ts';

const MAIN = fileURLToPath(
  new URL('../../tools/embedded/main.ts', import.meta.url),
);
const TIMEOUT_MS = 300_000;
const CONDITION = {
  resourceType: 'Condition',
  id: 'c-1',
  code: { text: 'Asthma' },
};

/** `npm start` on a folder, until it has written how to reach it. */
async function startMain(
  dataDir: string,
): Promise<{ main: ChildProcess; connection: StackConnection }> {
  const main = spawn(process.execPath, [MAIN], {
    env: {
      ...systemEnvironment(),
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  onTestFinished(() => stopMain(main));
  let output = '';
  for (const stream of [main.stdout, main.stderr])
    stream?.on('data', (data) => (output += data));
  const ended = once(main, 'exit').then(() => {
    throw new Error(`npm start ended: ${output}`);
  });
  const ready = vi.waitFor(() => readConnection(dataDir), {
    timeout: 240_000,
    interval: 100,
  });
  return { main, connection: await Promise.race([ready, ended]) };
}

async function stopMain(main: ChildProcess): Promise<void> {
  if (main.exitCode !== null || main.signalCode !== null) return;
  main.kill('SIGTERM');
  await once(main, 'exit');
}

/** What the gateway says, from the database, of where webhooks go. */
async function webhookUrl({
  baseUrl,
  apiKey,
}: StackConnection): Promise<unknown> {
  const answer = await request(`${baseUrl}/medical/v1/settings`, {
    headers: { 'x-api-key': apiKey },
  });
  expect(answer.statusCode).toBe(200);
  return ((await answer.body.json()) as { webhookUrl: unknown }).webhookUrl;
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

describe('the embedded stack', { timeout: TIMEOUT_MS }, () => {
  describe('that runs', () => {
    const lines: string[] = [];
    let dataDir: string;
    let running: TestStack;
    let stack: Stack;
    beforeAll(async () => {
      dataDir = await makeTestFolder();
      await makeTooOpen(dataDir);
      running = await startTestStack({
        dataDir,
        logLevel: 'warn',
        log: (line) => lines.push(line),
      });
      ({ stack } = running);
    });
    afterAll(() => running?.stop());

    describeNeighbours(() => running);

    test('merges what is contributed, and its removal, without a reader', async () => {
      const account = await running.addAccount();
      const call = (
        method: 'POST' | 'PUT' | 'DELETE',
        path: string,
        body?: object,
      ) => callGateway(stack.connection, account, method, path, { body });
      const patient = await call(
        'POST',
        `patient?facilityId=${account.facilityId}`,
        newPerson(),
      );
      const inRecord = () =>
        running.rows(
          "select from record_origin where patient_id = $1 and source = 'contribution'",
          [patient.body.id],
        );

      const path = `patient/${patient.body.id}/consolidated`;
      const contribution = await call('PUT', path, {
        resourceType: 'Bundle',
        type: 'collection',
        entry: [{ resource: CONDITION }],
      });
      expect(contribution.status).toBe(200);
      await expect.poll(inRecord).toHaveLength(1);

      const removal = await call(
        'DELETE',
        `patient/${patient.body.id}/contribution/${contribution.body.id}`,
      );
      expect(removal.status).toBe(204);
      await expect.poll(inRecord).toEqual([]);
      const left = 'select from record_arrival where patient_id = $1';
      await expect
        .poll(() => running.rows(left, [patient.body.id]))
        .toEqual([]);
    });

    test('serves, starts again what dies alone on its old port, and leaves nothing running', async () => {
      expect(await webhookUrl(stack.connection)).toBe(
        `${stack.connection.receiverUrl}/webhooks`,
      );
      // The link to the Temporal UI is another one after each use.
      const temporalUiLink = expect.any(String);
      expect(await readConnection(dataDir)).toEqual({
        ...stack.connection,
        temporalUiLink,
      });
      await expect(startStack({ dataDir })).rejects.toThrow(
        `in use by another stack (pid ${process.pid})`,
      );

      const before = stack.pids();
      const killed = ['gateway', 'PostgreSQL', 'worker'] as const;
      for (const name of killed) process.kill(before[name] ?? 0, 'SIGKILL');
      for (const name of killed)
        await vi.waitFor(
          () => expect(lines).toContain(`${name} is running again`),
          { timeout: 240_000 },
        );
      expect(await webhookUrl(stack.connection)).toBe(
        `${stack.connection.receiverUrl}/webhooks`,
      );

      await stack.stop();
      if (process.platform === 'linux')
        expect(await processesOf(dataDir)).toEqual([]);
      await expect(readConnection(dataDir)).rejects.toThrow(NoStackError);
    });
  });

  test('comes back with the same addresses, keys and data after everything of it was killed or left behind', async () => {
    const dataDir = join(await testFolder(), 'data');
    const { main, connection } = await startMain(dataDir);
    await querySql(
      connection.databaseUrl,
      'CREATE TABLE kept AS SELECT 1 AS value',
    );
    await killAndWait(main);
    await expect(readConnection(dataDir)).rejects.toThrow(
      /is not running any more. Start it again with: npm start/,
    );

    const next = await startMain(dataDir);
    const { temporalUiLink } = next.connection;
    expect(next.connection).toEqual({
      ...connection,
      pid: next.main.pid,
      temporalUiLink,
    });
    expect(temporalUiLink).not.toBe(connection.temporalUiLink);
    expect(
      await querySql(next.connection.databaseUrl, 'SELECT value FROM kept'),
    ).toEqual([{ value: 1 }]);
    expect(await webhookUrl(next.connection)).toBe(
      `${next.connection.receiverUrl}/webhooks`,
    );
    await stopMain(next.main);
    expect(next.main.exitCode).toBe(0);
    if (process.platform === 'linux')
      expect(await processesOf(dataDir)).toEqual([]);
  });

  test('stops what already runs when a part cannot start, and says which and why', async () => {
    const dataDir = await testFolder();
    const environment = { simulator: { SIMULATOR_PORT: 'no number' } };
    await expect(startStack({ dataDir, environment })).rejects.toThrow(
      /simulator did not start: .*SIMULATOR_PORT/,
    );
    if (process.platform === 'linux')
      expect(await processesOf(dataDir)).toEqual([]);
  });
});
