import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import color from 'picocolors';
import { runBulkRound } from '../../test/faults/bulk/round.ts';
import { startTestStack } from '../../test/support/stack.ts';

export interface BulkSoakOptions {
  rows: string;
  toQuery: string;
  minutes: string;
  keep?: true;
}

/**
 * `npm run soak -- bulk`: imports one file undisturbed, then with the worker
 * and PostgreSQL killed, and prints the outcome.
 */
export async function soakBulk(options: BulkSoakOptions): Promise<void> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const rows = Number(options.rows);
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-soak-'));
  print(color.bold(`Starting the stack in ${dataDir} …`));
  const stack = await startTestStack({ dataDir });
  try {
    const { faults, killedAt, seconds } = await runBulkRound(stack, {
      rows,
      toQuery: Number(options.toQuery),
      workerAfterRows: Math.floor(rows * 0.35),
      postgresAfterRows: Math.floor(rows * 0.7),
      timeoutMs: Number(options.minutes) * 60_000,
    });
    print(
      `${rows} rows: undisturbed in ${seconds.undisturbed} s; in ${seconds.disturbed} s with the worker killed ` +
        `after ${killedAt.worker} rows and PostgreSQL after ${killedAt.postgres}.`,
    );
    for (const fault of faults) print(color.red(`✗ ${fault}`));
    if (faults.length === 0)
      print(
        color.green(
          '✓ Same result and same patients, and each patient was queried once.',
        ),
      );
    process.exitCode = faults.length === 0 ? 0 : 1;
  } finally {
    await stack.stop();
    if (options.keep !== true)
      await rm(dataDir, { recursive: true, force: true });
  }
}
