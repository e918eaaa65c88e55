import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { msToTs } from '@temporalio/common/lib/time.js';
import { freePort } from '../../src/lib/free-port.ts';
import { withConnection } from '../../src/temporal/connection.ts';
import { getTemporalCli } from '../../src/temporal/server-binary.ts';
import {
  type RunningPart,
  STOP_STEPS,
  startServing,
  stopOrphan,
} from './child-process.ts';
import { checkListening, waitUntil } from './wait-until.ts';

export interface TemporalServerOptions {
  /** Folder of the database file; created if needed. */
  dataDir: string;
  /** Preferred ports; others are used when they are taken. */
  port?: number;
  uiPort?: number;
  namespace?: string;
  searchAttributes?: Readonly<Record<string, SearchAttributeTypeName>>;
  /**
   * How long closed workflows are kept; the server's own default is one day.
   */
  retentionDays?: number;
  /** Settings of the server besides ours, by name. */
  dynamicConfig?: Readonly<Record<string, string>>;
  /** Default: `temporal.log` in the data folder. */
  logFile?: string;
  /** Aborts the start. */
  signal?: AbortSignal;
}

export interface RunningTemporalServer extends RunningPart {
  /** host:port of the frontend. */
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl: string;
  readonly port: number;
  readonly uiPort: number;
}

export const DATABASE_FILE = 'temporal.db';
const PID_FILE = 'temporal.pid';
const RETENTION_DAYS = 30;

/**
 * Starts Temporal's development server (with its UI) on loopback, with its
 * state in a file. First stops a server that a killed supervisor left on that
 * file. Resolves when the server accepts work, with namespace, search
 * attributes and retention set; throws with the server's own reason when it
 * does not start. Only one caller may use a data folder (see stack-lock.ts).
 */
export async function startTemporalServer(
  options: TemporalServerOptions,
): Promise<RunningTemporalServer> {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = await realpath(options.dataDir);
  const database = join(dataDir, DATABASE_FILE);
  const pidFile = join(dataDir, PID_FILE);
  const logFile = options.logFile ?? join(dataDir, 'temporal.log');
  const namespace = options.namespace ?? 'default';
  const searchAttributes = options.searchAttributes ?? {};
  await stopLeftOverTemporalServer(dataDir);

  const file = await getTemporalCli();
  const port = await freePort(options.port);
  const uiPort = await freePort(options.uiPort);
  const args = [
    'server',
    'start-dev',
    '--ip',
    '127.0.0.1',
    '--port',
    String(port),
    '--ui-port',
    String(uiPort),
    '--db-filename',
    database,
    '--namespace',
    namespace,
    '--log-level',
    'warn',
    '--log-format',
    'json',
    // With the defaults of the file database, the server reaches a fifth of
    // this rate.
    '--sqlite-pragma',
    'journal_mode=wal',
    '--sqlite-pragma',
    'synchronous=normal',
    // Fairness between accounts works only within one partition of a task
    // queue.
    '--dynamic-config-value',
    'matching.enableFairness=true',
    '--dynamic-config-value',
    'matching.numTaskqueueReadPartitions=1',
    '--dynamic-config-value',
    'matching.numTaskqueueWritePartitions=1',
    // Tasks are read this often per second and shard, and this server has one
    // shard: with the default of 20 each step of a busy system waits 35 ms.
    '--dynamic-config-value',
    'history.transferProcessorMaxPollRPS=200',
    // A run that is deleted waits for the next of these, twice.
    '--dynamic-config-value',
    'history.transferProcessorUpdateAckInterval="5s"',
    '--dynamic-config-value',
    'history.visibilityProcessorUpdateAckInterval="5s"',
    ...Object.entries(options.dynamicConfig ?? {}).flatMap(([name, value]) => [
      '--dynamic-config-value',
      `${name}=${value}`,
    ]),
    '--ui-disable-news-fetch',
    ...Object.entries(searchAttributes).flatMap(([name, type]) => [
      '--search-attribute',
      `${name}=${type}`,
    ]),
  ];
  const address = `127.0.0.1:${port}`;
  const expected = {
    address,
    namespace,
    searchAttributes,
    retentionDays: options.retentionDays ?? RETENTION_DAYS,
  };
  const child = await startServing({
    name: 'The Temporal server',
    file,
    args,
    logFile,
    cwd: dataDir,
    stopSteps: STOP_STEPS,
    onStarted: (pid) => writeFile(pidFile, `${pid}\n`, { mode: 0o600 }),
    serves: (_, signal) =>
      waitUntil('it serves', () => checkServing(expected), {
        timeoutMs: READY_TIMEOUT_MS,
        signal,
      }),
    reason: /level"?[:=]"?(ERROR|FATAL)|^Error:/i,
    signal: options.signal,
  });
  const stop = async () => {
    await child.stop();
    await rm(pidFile, { force: true });
  };
  const uiUrl = `http://127.0.0.1:${uiPort}`;
  return {
    address,
    namespace,
    uiUrl,
    port,
    uiPort,
    pid: child.pid,
    exited: child.exited,
    stop,
  };
}

/** Stops the server that a killed supervisor left on this data folder. */
export async function stopLeftOverTemporalServer(
  dataDir: string,
): Promise<void> {
  const pidFile = join(dataDir, PID_FILE);
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (Number.isInteger(pid) && pid > 0)
    await stopOrphan(
      pid,
      ['server start-dev', `--db-filename ${join(dataDir, DATABASE_FILE)} `],
      STOP_STEPS,
    );
  await rm(pidFile, { force: true });
}

/** Types of search attributes, as in the server's command line. */
type SearchAttributeTypeName =
  | 'Text'
  | 'Keyword'
  | 'Int'
  | 'Double'
  | 'Bool'
  | 'Datetime'
  | 'KeywordList';

interface ServingExpectation {
  readonly address: string;
  readonly namespace: string;
  readonly searchAttributes: Readonly<Record<string, SearchAttributeTypeName>>;
  readonly retentionDays: number;
}

/**
 * As long as for our own processes: a busy machine is waited for, and the start
 * says so.
 */
const READY_TIMEOUT_MS = 240_000;
const CALL_TIMEOUT_MS = 5_000;
const DAY_MS = 86_400_000;

/**
 * Resolves when the server accepts work: the namespace exists with the expected
 * retention, and the search attributes are registered (the server rejects a
 * workflow that sets an unknown one).
 */
async function checkServing({
  address,
  namespace,
  ...expected
}: ServingExpectation): Promise<true> {
  // Checked first because the client waits a second before it retries a refused
  // connection.
  await checkListening(address);
  return withConnection(
    address,
    CALL_TIMEOUT_MS,
    async ({ workflowService, operatorService }) => {
      await workflowService.updateNamespace({
        namespace,
        config: {
          workflowExecutionRetentionTtl: msToTs(
            expected.retentionDays * DAY_MS,
          ),
        },
      });
      const { customAttributes } = await operatorService.listSearchAttributes({
        namespace,
      });
      for (const name of Object.keys(expected.searchAttributes))
        if (!(name in (customAttributes ?? {})))
          throw new Error(`search attribute ${name} is missing`);
      return true as const;
    },
  );
}
