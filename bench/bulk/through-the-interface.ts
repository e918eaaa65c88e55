import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { bulkPatientCreateWorkflowId } from '../../src/contract/temporal.ts';
import {
  downloadResult,
  hasEnded,
  putCsv,
  startBulkCreate,
  untilStatus,
} from '../../test/support/bulk-create.ts';
import {
  callGateway,
  type StackAccount,
  startTestStack,
  type TestStack,
} from '../../test/support/stack.ts';
import { type CpuSeconds, cpuSince, readCpuSeconds } from './cpu-times.ts';
import { runFloor } from './floor.ts';
import { generateCsv } from './generate.ts';
import { readHistoryTimes } from './history-times.ts';

export interface PublicBulkOptions {
  rows: number;
  rounds: number;
  /**
   * Whether each round also imports other patients while its caller asks for
   * the status five times a second.
   */
  asked?: boolean;
  /** Folder for a CPU profile of the worker (.cpuprofile). */
  profile?: string;
}

/**
 * Milliseconds by phase, from the first byte of the upload to the last one of
 * the result at the caller.
 */
export interface PublicImport {
  /** The PUT, until its response. */
  uploadMs: number;
  checkMs: number;
  rowsMs: number;
  joinMs: number;
  downloadMs: number;
  /**
   * The rest of the total: between the steps, and until the client sees the
   * end.
   */
  betweenMs: number;
  totalMs: number;
  historyEvents: number;
  /** Less affected by other load on the machine than times are. */
  cpu: CpuSeconds;
  created: number;
  updated: number;
}

export interface PublicRound {
  floorMs: number;
  first: PublicImport;
  again: PublicImport;
  /** A first import whose caller asks for its status all the time. */
  asked?: PublicImport;
}

export interface PublicBulkResult {
  options: PublicBulkOptions;
  rounds: PublicRound[];
  /**
   * Highest resident memory of each process after the warm-up began; undefined
   * without /proc.
   */
  peakBytes: { worker?: number; gateway?: number };
}

const ASK_EVERY_MS = 200;
const END_TIMEOUT_MS = 600_000;
/** Other patients than those of the rounds. */
const ASKED_SEED = 1_000;

/**
 * Bulk creates through the public interface of a whole stack (gateway, worker,
 * PostgreSQL, Temporal as processes), against the floor on the same PostgreSQL,
 * alternating; each round imports other patients, then the same file again.
 */
export async function benchPublicBulk(
  options: PublicBulkOptions,
  note: (line: string) => void,
): Promise<PublicBulkResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-bulk-'));
  const { profile } = options;
  const nodeArgs =
    profile === undefined
      ? {}
      : { worker: ['--cpu-prof', `--cpu-prof-dir=${profile}`] };
  const stack = await startTestStack({ dataDir, nodeArgs });
  const client = new pg.Client({
    connectionString: stack.connection.databaseUrl,
  });
  try {
    await client.connect();
    const account = await stack.addAccount();
    const csvFile = join(dataDir, 'panel.csv');
    const result: PublicBulkResult = { options, rounds: [], peakBytes: {} };
    const { 'worker-background': worker, gateway } = stack.stack.pids();
    await Promise.all([forgetPeakOf(worker), forgetPeakOf(gateway)]);
    for (let round = 0; round <= options.rounds; round += 1) {
      const isWarmUp = round === 0;
      const rows = isWarmUp ? Math.min(3_000, options.rows) : options.rows;
      await writeFile(csvFile, generateCsv({ rows, seed: round + 1 }));
      const floorMs = await runFloor(
        client,
        csvFile,
        join(dataDir, 'floor.csv'),
      );
      const first = await importFile(stack, account, client, csvFile);
      const again = await importFile(stack, account, client, csvFile);
      if (first.created !== rows || again.updated !== rows)
        throw new Error('not every row was imported');
      if (isWarmUp) continue;
      const measured: PublicRound = { floorMs, first, again };
      result.rounds.push(measured);
      note(
        `round ${round}: floor ${seconds(floorMs)}; first ${phases(first)}; again ${phases(again)}`,
      );
      if (options.asked !== true) continue;
      await writeFile(csvFile, generateCsv({ rows, seed: ASKED_SEED + round }));
      measured.asked = await importFile(stack, account, client, csvFile, true);
      note(`round ${round}: asked for its status ${phases(measured.asked)}`);
    }
    result.peakBytes = {
      worker: await peakOf(worker),
      gateway: await peakOf(gateway),
    };
    return result;
  } finally {
    await client.end();
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function importFile(
  stack: TestStack,
  account: StackAccount,
  client: pg.Client,
  csvFile: string,
  isAsked = false,
): Promise<PublicImport> {
  const { requestId, uploadUrl } = await startBulkCreate(stack, account);
  const {
    'worker-background': worker,
    gateway,
    PostgreSQL: postgres,
  } = stack.stack.pids();
  const pids = { worker, gateway, postgres };
  const cpuBefore = readCpuSeconds(pids);
  const began = performance.now();
  await putCsv(account, uploadUrl, csvFile);
  const uploadMs = performance.now() - began;
  if (!isAsked) await untilEnded(client, requestId);
  const asking = { timeoutMs: END_TIMEOUT_MS, everyMs: ASK_EVERY_MS };
  const end = await untilStatus(stack, account, requestId, hasEnded, asking);
  const endedAt = performance.now();
  await downloadResult(end, `${csvFile}.result`);
  const now = performance.now();
  const cpu = cpuSince(cpuBefore, readCpuSeconds(pids));
  await stopSweep(stack, account, requestId);
  const { activityMs, events } = await readHistoryTimes(
    stack.temporal,
    bulkPatientCreateWorkflowId(requestId),
  );
  const { checkUpload = 0, handleRows = 0, finishBulkCreate = 0 } = activityMs;
  return {
    uploadMs,
    checkMs: checkUpload,
    rowsMs: handleRows,
    joinMs: finishBulkCreate,
    downloadMs: now - endedAt,
    betweenMs:
      endedAt - began - uploadMs - checkUpload - handleRows - finishBulkCreate,
    totalMs: now - began,
    historyEvents: events,
    cpu,
    created: end.counts.created,
    updated: end.counts.updated,
  };
}

/** Waits like a caller of webhooks, without asking the gateway. */
async function untilEnded(client: pg.Client, requestId: string): Promise<void> {
  const deadlineAt = Date.now() + END_TIMEOUT_MS;
  while (Date.now() < deadlineAt) {
    const { rows } = await client.query(
      'select from bulk_request where id = $1 and ended_at is not null',
      [requestId],
    );
    if (rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('The import did not end in time');
}

/**
 * Cancels the post-import queries: they are not measured, and would slow down
 * the next import.
 */
async function stopSweep(
  stack: TestStack,
  account: StackAccount,
  requestId: string,
): Promise<void> {
  const hasBegun = ({ sweep }: { sweep?: unknown }) => sweep !== undefined;
  await untilStatus(stack, account, requestId, hasBegun, {
    timeoutMs: 60_000,
    everyMs: ASK_EVERY_MS,
  });
  await callGateway(
    stack.connection,
    account,
    'POST',
    `patient/bulk/${requestId}/sweep/cancel`,
  );
  const running = `AccountId = "${account.accountId}" and ExecutionStatus = "Running"`;
  const deadlineAt = Date.now() + 60_000;
  while (
    (await stack.temporal.workflow.count(running)).count > 0 &&
    Date.now() < deadlineAt
  )
    await new Promise((resolve) => setTimeout(resolve, 500));
}

/**
 * The start may have built the workflow bundle, which takes more memory than
 * the work itself.
 */
const forgetPeakOf = (pid: number | undefined): Promise<void> =>
  writeFile(`/proc/${pid}/clear_refs`, '5').catch(() => undefined);

/** Linux keeps the highest resident size of a process. */
async function peakOf(pid: number | undefined): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
const phases = (times: PublicImport): string =>
  `${seconds(times.totalMs)} (upload ${seconds(times.uploadMs)}, check ${seconds(times.checkMs)}, rows ${seconds(times.rowsMs)}, join ${seconds(times.joinMs)}, download ${seconds(times.downloadMs)}, between ${seconds(times.betweenMs)}; CPU of the worker ${times.cpu.worker.toFixed(1)} s, PostgreSQL ${times.cpu.postgres.toFixed(1)} s, gateway ${times.cpu.gateway.toFixed(1)} s; ${times.historyEvents} history events)`;
