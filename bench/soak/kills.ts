import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import color from 'picocolors';
import { KILLABLE, type Killable } from '../../test/faults/kill/holds.ts';
import {
  type RoundReport,
  runRound,
  runUndisturbed,
} from '../../test/faults/kill/round.ts';
import { KILL_WINDOWS, planKills } from '../../test/faults/kill/windows.ts';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { startTestStack } from '../../test/support/stack.ts';
import { renderCoverage, renderRound, renderSummary } from './report.ts';

export interface KillSoakOptions {
  rounds: string;
  part: string;
  seed: string;
  window?: string;
  keep?: true;
}

/**
 * `npm run soak -- kills`: kills parts of a working stack at seeded moments and
 * checks the outcome of the work.
 */
export async function soakKills(
  options: KillSoakOptions,
  refuse: (why: string) => never,
): Promise<void> {
  const parts = KILLABLE.filter(
    (part) => options.part === 'all' || options.part === part,
  );
  const windows = KILL_WINDOWS.filter(({ name }) =>
    name.includes(options.window ?? ''),
  );
  if (parts.length === 0 || windows.length === 0)
    refuse('no such part, or no such moment');
  const kills = planKills(seededRandom(Number(options.seed)), {
    parts,
    windows,
    rounds: Number(options.rounds),
  });

  const print = (line = ''): void => void process.stdout.write(`${line}\n`);
  const dataDir = await mkdtemp(join(tmpdir(), 'exchange-soak-'));
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => interrupted.abort());

  print(color.bold(`Starting the stack in ${dataDir} …`));
  const stack = await startTestStack({ dataDir });
  const reports: RoundReport[] = [];
  try {
    const undisturbed = await runUndisturbed(stack);
    print(`Without kills, all queries ended after ${undisturbed.seconds} s`);
    for (const [index, kill] of kills.entries()) {
      if (interrupted.signal.aborted) break;
      const report = await runRound(stack, kill, undisturbed);
      reports.push(report);
      print(renderRound(index + 1, kills.length, report));
      for (const fault of report.faults) print(color.red(`     ✗ ${fault}`));
    }
  } finally {
    await stack.stop();
    if (options.keep !== true)
      await rm(dataDir, { recursive: true, force: true });
  }

  const faulty = reports.filter(({ faults }) => faults.length > 0).length;
  print(
    `\n${renderCoverage(reports, parts as readonly Killable[], windows)}\n`,
  );
  print(renderSummary(reports));
  process.exitCode = faulty === 0 && reports.length === kills.length ? 0 : 1;
}
