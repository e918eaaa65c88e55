import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import color from 'picocolors';
import { runMonitoringRound } from '../../test/faults/monitoring/round.ts';
import { startTestStack } from '../../test/support/stack.ts';

export interface MonitoringSoakOptions {
  patients: string;
  perMinute: string;
  kills: string;
  minutes: string;
  acceptedOnly?: true;
  keep?: true;
}

/**
 * `npm run soak -- monitoring`: monitors two cohorts while the worker is
 * killed, and prints the outcome.
 */
export async function soakMonitoring(
  options: MonitoringSoakOptions,
): Promise<void> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-soak-'));
  print(color.bold(`Starting the stack in ${dataDir} …`));
  const stack = await startTestStack({
    dataDir,
    environment: options.acceptedOnly
      ? { worker: { WORKER_QUEUES: 'orchestrator' } }
      : {},
  });
  try {
    let lastTold = 0;
    const report = await runMonitoringRound(stack, {
      patients: Number(options.patients),
      queriesPerMinute: Number(options.perMinute),
      kills: Number(options.kills),
      areCarriedOut: options.acceptedOnly !== true,
      timeoutMs: Number(options.minutes) * 60_000,
      onProgress(started) {
        if (Date.now() - lastTold < 10_000) return;
        lastTold = Date.now();
        print(
          `${new Date().toISOString()} ${started} of ${options.patients} queries started`,
        );
      },
    });
    const {
      seconds,
      kills,
      queries,
      inOneMinute,
      allowedInOneMinute,
      runs,
      faults,
    } = report;
    for (const { patients, started, skipped, failed } of runs)
      print(
        `Cohort of ${patients}: ${started} started, ${skipped.alreadyAsked} skipped, ${failed} failed`,
      );
    print(
      `${queries} queries in ${seconds.runs} s, ${options.acceptedOnly ? 'accepted only' : `all ended after ${seconds.queries} s`}; the worker was killed ${kills} times; ` +
        `at most ${inOneMinute} in one minute, ${allowedInOneMinute} allowed.`,
    );
    for (const fault of faults) print(color.red(`✗ ${fault}`));
    if (faults.length === 0)
      print(color.green('✓ Each patient was queried once.'));
    process.exitCode = faults.length === 0 ? 0 : 1;
  } finally {
    await stack.stop();
    if (options.keep !== true)
      await rm(dataDir, { recursive: true, force: true });
  }
}
