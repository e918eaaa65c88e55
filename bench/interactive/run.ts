import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
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
import { generateCsv } from '../bulk/generate.ts';
import { createCaller } from './caller.ts';
import { type Percentiles, percentiles } from './percentiles.ts';
import { readStages, type Stages } from './stages.ts';
import { listenForWebhooks } from './webhooks.ts';

export interface InteractiveBenchOptions {
  rows: number;
  /**
   * Duration of the phase without other work, and of the one beside the sweep.
   */
  seconds: number;
}

export interface Phase {
  name: 'alone' | 'beside the import' | 'beside the sweep';
  seconds: number;
  /** E4 of a new patient, until its answer. */
  create: Percentiles;
  /** From sending E2 of one source to the source's webhook at the receiver. */
  query: Percentiles;
  /** Where the time of these queries goes. */
  stages: Stages;
}

export interface InteractiveBenchResult {
  options: InteractiveBenchOptions;
  phases: Phase[];
  /** Queries of the sweep that ended in a second of its phase. */
  sweptASecond: number;
  load: [number, number];
}

const IMPORT_TIMEOUT_MS = 240_000;

/**
 * What a caller waits for on a whole stack: alone, while another account
 * imports a file, and while the queries of that import's patients run. The
 * callers send at a fixed pace, so a slow answer does not lessen what is asked.
 */
export async function benchInteractive(
  options: InteractiveBenchOptions,
  print: (line: string) => void,
): Promise<InteractiveBenchResult> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-interactive-'));
  const stack = await startTestStack({ dataDir });
  const webhooks = await listenForWebhooks();
  try {
    const caller = await stack.addAccount();
    const importer = await stack.addAccount();
    await stack.rows(
      'update webhook_destination set url = $1 where account_id = $2',
      [webhooks.url, caller.accountId],
    );
    const interactive = await createCaller(stack, caller, webhooks);
    const result: InteractiveBenchResult = {
      options,
      phases: [],
      sweptASecond: 0,
      load: [loadavg()[0] ?? 0, 0],
    };
    const measure = async (
      name: Phase['name'],
      until: () => Promise<unknown>,
    ): Promise<void> => {
      const began = performance.now();
      const { createMs, queryMs, sent } = await interactive.during(until);
      const seconds = (performance.now() - began) / 1000;
      const phase: Phase = {
        name,
        seconds,
        create: percentiles(createMs),
        query: percentiles(queryMs),
        stages: await readStages(stack.temporal, sent),
      };
      result.phases.push(phase);
      print(
        `${name}, ${phase.seconds.toFixed(0)} s: E4 ${described(phase.create)}; query ${described(phase.query)}`,
      );
      for (const [stage, times] of Object.entries(phase.stages))
        print(`  ${stage}: ${described(times)}`);
    };
    const pause = () =>
      new Promise((resolve) => setTimeout(resolve, options.seconds * 1000));

    await interactive.during(
      () => new Promise((resolve) => setTimeout(resolve, 5_000)),
    );
    await measure('alone', pause);
    const csvFile = join(dataDir, 'panel.csv');
    await writeFile(csvFile, generateCsv({ rows: options.rows }));
    let requestId = '';
    await measure('beside the import', async () => {
      requestId = await importFile(stack, importer, csvFile);
    });
    const before = await sweptQueries(stack);
    await measure('beside the sweep', pause);
    result.sweptASecond =
      ((await sweptQueries(stack)) - before) /
      (result.phases.at(-1)?.seconds ?? 1);
    print(
      `  the sweep ended ${result.sweptASecond.toFixed(1)} queries a second`,
    );
    await callGateway(
      stack.connection,
      importer,
      'POST',
      `patient/bulk/${requestId}/sweep/cancel`,
    );
    result.load[1] = loadavg()[0] ?? 0;
    return result;
  } finally {
    await stack.stop();
    await webhooks.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function importFile(
  stack: TestStack,
  account: StackAccount,
  csvFile: string,
): Promise<string> {
  const { requestId, uploadUrl } = await startBulkCreate(stack, account);
  await putCsv(account, uploadUrl, csvFile);
  const end = await untilStatus(stack, account, requestId, hasEnded, {
    timeoutMs: IMPORT_TIMEOUT_MS,
    everyMs: 500,
  });
  if (end.status !== 'completed')
    throw new Error(`the import ended as ${end.status}`);
  return requestId;
}

async function sweptQueries(stack: TestStack): Promise<number> {
  const [row] = await stack.rows<{ ended: string }>(
    "select count(*) as ended from network_query where origin = 'bulk' and status <> 'running'",
  );
  return Number(row?.ended);
}

const described = ({ count, p50Ms, p95Ms }: Percentiles): string =>
  `${count} calls, median ${p50Ms.toFixed(0)} ms, p95 ${p95Ms.toFixed(0)} ms`;
