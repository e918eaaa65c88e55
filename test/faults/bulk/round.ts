import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_CHUNK_ROWS } from '../../../src/shared/bulk-csv/layout.ts';
import {
  downloadResult,
  hasEnded,
  putCsv,
  startBulkCreate,
  untilStatus,
} from '../../support/bulk-create.ts';
import type { StackAccount, TestStack } from '../../support/stack.ts';
import { createHolds, type Hold } from '../kill/holds.ts';
import { killPart } from '../kill/kill-part.ts';
import { settle } from '../kill/settle.ts';
import { until } from '../kill/until.ts';
import { type Panel, writePanel } from './panel.ts';

export interface BulkRoundOptions {
  rows: number;
  /** Patients who have not opted out of the queries that follow. */
  toQuery: number;
  /**
   * The worker is killed once so many rows are handled, in a transaction that
   * has written its patients.
   */
  workerAfterRows: number;
  /**
   * Then PostgreSQL, when the chunk after so many rows begins; some chunks
   * later.
   */
  postgresAfterRows: number;
  timeoutMs: number;
}

export interface BulkRoundReport {
  faults: string[];
  /** Rows that were handled when each part was killed. */
  killedAt: { worker: number; postgres: number };
  /** From the upload to the result. */
  seconds: { undisturbed: number; disturbed: number };
}

/**
 * One file twice, each time into an account of its own: undisturbed, and while
 * the worker and then PostgreSQL are killed in the middle of a chunk. Result,
 * patients and the queries that follow must be the same.
 */
export async function runBulkRound(
  stack: TestStack,
  options: BulkRoundOptions,
): Promise<BulkRoundReport> {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-bulk-'));
  try {
    const panel = await writePanel(join(folder, 'panel.csv'), options);
    const undisturbed = await runImport(stack, panel, options.timeoutMs);
    const killedAt = { worker: 0, postgres: 0 };
    const disturbed = await runImport(
      stack,
      panel,
      options.timeoutMs,
      async (requestId) => {
        Object.assign(killedAt, await killTwice(stack, requestId, options));
      },
    );
    const faults = [
      ...undisturbed.faults.map((fault) => `undisturbed: ${fault}`),
      ...disturbed.faults,
      ...(undisturbed.result === disturbed.result
        ? []
        : ['the results differ beyond ids']),
      ...(undisturbed.counts === disturbed.counts
        ? []
        : [`${undisturbed.counts} became ${disturbed.counts}`]),
    ];
    return {
      faults,
      killedAt,
      seconds: {
        undisturbed: undisturbed.seconds,
        disturbed: disturbed.seconds,
      },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runImport(
  stack: TestStack,
  panel: Panel,
  timeoutMs: number,
  disturb?: (requestId: string) => Promise<void>,
) {
  const account = await stack.addAccount();
  const { requestId, uploadUrl } = await startBulkCreate(stack, account);
  const began = Date.now();
  const disturbing = disturb?.(requestId);
  // Awaited below; until then its failure is nobody's.
  disturbing?.catch(() => undefined);
  await putCsv(account, uploadUrl, panel.csvFile);
  await disturbing;
  const end = await untilStatus(stack, account, requestId, hasEnded, {
    timeoutMs,
  });
  const seconds = Math.round((Date.now() - began) / 100) / 10;
  const file = `${panel.csvFile}.result`;
  await downloadResult(end, file);
  const swept = await untilStatus(
    stack,
    account,
    requestId,
    ({ sweep }) => sweep?.state === 'completed' && sweep.open === 0,
    { timeoutMs },
  );
  const faults = await settle(stack, account, timeoutMs);
  faults.push(...(await checkPatients(stack, account, panel)));
  faults.push(...(await checkQueries(stack, account, panel)));
  faults.push(...(await checkWebhooks(stack, requestId)));
  const { started, skipped, failed } = swept.sweep ?? {};
  if (
    started !== panel.toQuery ||
    skipped !== panel.persons - panel.toQuery ||
    failed !== 0
  )
    faults.push(`sweep: ${JSON.stringify(swept.sweep)}`);
  return {
    faults,
    seconds,
    counts: JSON.stringify(end.counts),
    result: withoutIds(await readFile(file, 'utf8')),
  };
}

/** Both kills fall into a chunk's transaction, which is held still for them. */
async function killTwice(
  stack: TestStack,
  requestId: string,
  { workerAfterRows, postgresAfterRows, timeoutMs }: BulkRoundOptions,
) {
  const handled = async (): Promise<number> => {
    const [row] = await stack.rows<{ handled: number }>(
      'select handled from bulk_request where id = $1',
      [requestId],
    );
    return row?.handled ?? 0;
  };
  const holds = createHolds(stack);
  const laterHolds = createHolds(stack);
  try {
    await reached(
      async () => (await handled()) >= workerAfterRows,
      timeoutMs,
      'enough rows',
    );
    const patients = await holds.lockTable('bulk_patient');
    await reached(
      () => patients.isWaitedFor(),
      timeoutMs,
      'a chunk that writes',
    );
    const worker = await handled();
    // That chunk waits for its row from then on, before it takes anything else.
    const chunk = Math.floor(postgresAfterRows / DEFAULT_CHUNK_ROWS);
    const row =
      'select from bulk_chunk where request_id = $1 and chunk = $2 for update';
    let next: Hold | undefined;
    await killPart(stack, 'worker-background', async () => {
      await holds.releaseAll();
      next = await laterHolds.lockRows(row, [requestId, chunk]);
    });
    await reached(
      async () => (await next?.isWaitedFor()) === true,
      timeoutMs,
      `chunk ${chunk}`,
    );
    const postgres = await handled();
    await killPart(stack, 'PostgreSQL', () => laterHolds.releaseAll());
    return { worker, postgres };
  } finally {
    await holds.releaseAll();
    await laterHolds.releaseAll();
  }
}

async function reached(
  check: () => Promise<boolean>,
  timeoutMs: number,
  what: string,
): Promise<void> {
  if (!(await until(check, { timeoutMs })))
    throw new Error(`${what}: not within ${timeoutMs} ms`);
}

async function checkPatients(
  { rows }: TestStack,
  { accountId }: StackAccount,
  { persons }: Panel,
): Promise<string[]> {
  const [found] = await rows<{
    patients: number;
    keys: number;
    external: number;
  }>(
    `select (select count(*) from patient where account_id = $1)::int as patients,
       (select count(distinct external_id) from patient where account_id = $1)::int as external,
       (select count(*) from patient_identity_key where account_id = $1)::int as keys`,
    [accountId],
  );
  const wanted = { patients: persons, keys: persons, external: persons };
  return Object.entries(wanted).flatMap(([what, count]) => {
    const is = found?.[what as keyof typeof wanted];
    return is === count ? [] : [`${count} ${what} expected, got ${is}`];
  });
}

async function checkQueries(
  { rows }: TestStack,
  { accountId }: StackAccount,
  { toQuery }: Panel,
): Promise<string[]> {
  const [found] = await rows<{ queries: number; patients: number }>(
    `select count(*)::int as queries, count(distinct patient_id)::int as patients
     from network_query where account_id = $1`,
    [accountId],
  );
  return found?.queries === toQuery && found.patients === toQuery
    ? []
    : [`${toQuery} patients to query, got ${JSON.stringify(found)}`];
}

/** Each of its two messages once, whatever was repeated. */
async function checkWebhooks(
  stack: TestStack,
  requestId: string,
): Promise<string[]> {
  const received = (await stack.received()).filter(
    (message) => message.requestId === requestId,
  );
  const messages = new Set(received.map(({ messageId }) => messageId)).size;
  return messages === 2 ? [] : [`2 webhooks expected, got ${messages}`];
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/**
 * Each id by the number of its first appearance: two rows of one patient still
 * have the same.
 */
function withoutIds(csv: string): string {
  const known = new Map<string, string>();
  return csv.replaceAll(UUID, (id) => {
    const name = known.get(id) ?? `<id ${known.size + 1}>`;
    known.set(id, name);
    return name;
  });
}
