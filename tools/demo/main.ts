import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import color from 'picocolors';
import { onClosedOutput } from '../../src/lib/command-line.ts';
import { EXIT } from '../../src/lib/exit-codes.ts';
import { onStopSignal } from '../embedded/stop-signals.ts';
import { runDemo } from './run.ts';

/**
 * `npm run demo`: onboards patients on a whole stack, in a temporary folder
 * that is removed at the end.
 */
const program = new Command('npm run demo --')
  // Commander's own code is 1.
  .exitOverride(({ exitCode }) =>
    process.exit(exitCode === 0 ? EXIT.done : EXIT.usage),
  )
  .description(
    'Onboard five patients from three sources while the sources misbehave, query a sixth of an IHE gateway, and check that every fault was handled.',
  )
  .option(
    '--json',
    'print one JSON summary as the last line of stdout; progress goes to stderr',
  )
  .option('--keep', 'keep the stack running after the demo, until Ctrl-C')
  .option('--timing', 'print at the end where the time went')
  .addOption(
    new Option(
      '--cluster',
      'run on the parts of "npm run cluster" instead of those of "npm start"',
    ).conflicts('break'),
  )
  .addOption(
    new Option(
      '--break <what>',
      'break one part on purpose, to show that the demo detects it',
    ).choices(['fault', 'webhooks']),
  )
  .parse();

const options = program.opts<
  Partial<Record<'json' | 'keep' | 'cluster' | 'timing', true>> & {
    break?: 'fault' | 'webhooks';
  }
>();
const out = options.json === true ? process.stderr : process.stdout;
const print = (text = ''): void => void out.write(`${text}\n`);

const dataDir = await mkdtemp(join(tmpdir(), 'medical-data-exchange-'));
const interrupted = new AbortController();
onStopSignal(
  () => interrupted.abort(),
  () => print('Still stopping: a process that takes too long is killed.'),
);
onClosedOutput(() => interrupted.abort());

try {
  const summary = await runDemo({
    dataDir,
    breaks: options.break,
    keep: options.keep === true,
    onCluster: options.cluster === true,
    print,
    stream: out,
    signal: interrupted.signal,
  });
  process.exitCode = summary.faults.length === 0 ? 0 : 1;
  if (options.timing === true)
    for (const [phase, seconds] of Object.entries(summary.timing))
      print(`${`${seconds.toFixed(1)} s`.padStart(8)}  ${phase}`);
  if (options.json === true)
    process.stdout.write(`${JSON.stringify(summary)}\n`);
} catch (error) {
  print(
    color.red(
      interrupted.signal.aborted
        ? 'Interrupted.'
        : `The demo could not run: ${(error as Error).message}`,
    ),
  );
  process.exitCode = interrupted.signal.aborted ? 130 : 1;
} finally {
  // What went wrong without being asked for can be looked at.
  const isKept = process.exitCode === 1 && options.break === undefined;
  if (isKept) print(`Its data and logs are kept in ${dataDir}`);
  else await rm(dataDir, { recursive: true, force: true });
}
