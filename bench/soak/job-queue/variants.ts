import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  createStore,
  type Store,
} from '../../../src/exchange/platform/database/database.ts';
import { killPart } from '../../../test/faults/kill/kill-part.ts';
import { until } from '../../../test/faults/kill/until.ts';
import { callUntilAnswered } from '../../../test/faults/kill/workload.ts';
import {
  attachToStack,
  type StackAccess,
  type TestStack,
} from '../../../test/support/stack.ts';
import type {
  JobProcessAnswer,
  JobProcessOrder,
  QueryOrder,
} from './protocol.ts';

/**
 * One way of running the same queries, on the same PostgreSQL server, sources
 * and receiver.
 */
export interface Variant {
  name: string;
  access: StackAccess;
  store: Store;
  /**
   * Starts a query of the patient, once, however often it had to be repeated.
   */
  startQuery(
    of: QueryOrder & { apiKey: string; facilityId: string },
    deadlineAt: number,
  ): Promise<void>;
  /**
   * SIGKILL to everything that takes and runs queries, at one moment; resolves
   * when it runs again.
   */
  killProcesses(): Promise<void>;
  stop(): Promise<void>;
}

/** Gateway and worker of the stack. */
export function ourWorkflow(stack: TestStack): Variant {
  const store = createStore({
    databaseUrl: stack.connection.databaseUrl,
    poolMax: 2,
  });
  return {
    name: 'our workflow',
    access: stack,
    store,
    async startQuery({ patientId, ...account }, deadlineAt) {
      const enabled = { enabled: true };
      const sources = { hie: enabled, pharmacy: enabled, lab: enabled };
      await callUntilAnswered(
        stack,
        account,
        `network/query?patientId=${patientId}`,
        { sources },
        deadlineAt,
      );
    },
    async killProcesses() {
      await Promise.all([
        killPart(stack, 'gateway'),
        killPart(stack, 'worker'),
      ]);
    },
    stop: () => store.close(),
  };
}

const PROCESS = fileURLToPath(new URL('job-process.ts', import.meta.url));
const ORDER_AGAIN_MS = 1_000;
const READY_TIMEOUT_MS = 60_000;

/**
 * The same steps as jobs of pg-boss, in a database of their own, by one process
 * that is started again when it ends.
 */
export async function jobsOfPgBoss(
  stack: TestStack,
  workers: number,
): Promise<Variant> {
  const { connection, secrets, dataDir } = stack;
  await stack.rows('create database jobs');
  const url = new URL(connection.databaseUrl);
  url.pathname = '/jobs';
  const store = createStore({ databaseUrl: url.href, poolMax: 2 });
  await store.migrate();
  const access = await attachToStack(dataDir, {
    ...connection,
    databaseUrl: url.href,
  });
  const order: JobProcessOrder = {
    databaseUrl: url.href,
    blobStore: pathToFileURL(join(dataDir, `jobs-${randomUUID()}`)).href,
    dataKeys: secrets.dataKeys,
    simulatorUrl: connection.simulatorUrl,
    hieClientSecret: secrets.hieClientSecret,
    pharmacyBearerToken: secrets.pharmacyBearerToken,
    labBearerToken: secrets.labBearerToken,
    workers,
  };
  const accepted = new Set<string>();
  let isReady = false;
  let isStopped = false;
  let running = launch();

  /**
   * pg-boss ends the process when it cannot reach PostgreSQL, so it is started
   * until it can.
   */
  function launch(): ChildProcess {
    isReady = false;
    const launched = fork(PROCESS, [], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    launched.once('exit', () => {
      if (!isStopped) running = launch();
    });
    launched.on('message', ({ patientId }: JobProcessAnswer) => {
      isReady = true;
      if (patientId !== undefined) accepted.add(patientId);
    });
    launched.send(order);
    return launched;
  }
  const untilReady = async () => {
    if (!(await until(async () => isReady, { timeoutMs: READY_TIMEOUT_MS })))
      throw new Error('the process of pg-boss was not ready in time');
  };
  await untilReady();

  return {
    name: 'jobs of pg-boss',
    access,
    store,
    async startQuery({ accountId, patientId }, deadlineAt) {
      while (!accepted.has(patientId)) {
        if (Date.now() > deadlineAt)
          throw new Error(`the query of ${patientId} was not accepted`);
        if (running.connected)
          running.send({ accountId, patientId } satisfies QueryOrder);
        await sleep(ORDER_AGAIN_MS);
      }
    },
    async killProcesses() {
      const killed = running;
      killed.kill('SIGKILL');
      await until(async () => running !== killed, {
        timeoutMs: READY_TIMEOUT_MS,
      });
      await untilReady();
    },
    async stop() {
      isStopped = true;
      const ended = once(running, 'exit');
      running.kill('SIGKILL');
      await ended;
      await access.detach();
      await store.close();
    },
  };
}
