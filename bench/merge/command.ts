import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import { benchMerge, type MergeBenchOptions } from './run.ts';

export const mergeCommand = new Command('merge')
  .description(
    'merging and reading a record against reading its deliveries; C-CDA against the bare library',
  )
  .option('--sample <key>', 'patient', 'dannie-bogisich')
  .option(
    '--copies <n>',
    'how many times the record is repeated, each time as different resources',
    whole,
    10,
  )
  .option('--rounds <n>', 'rounds', whole, 3)
  .option(
    '--bundle <file>',
    'a Synthea bundle (.json.gz) instead of the sample',
  )
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: MergeBenchOptions & { json?: true }) => {
    const result = await benchMerge(options, note);
    if (json === true) return printJson(result);
    const of = (pick: (round: (typeof result.rounds)[number]) => number) =>
      median(result.rounds.map(pick));
    process.stdout.write(
      [
        `${of((round) => round.deliveries)} deliveries, ${Math.round(of((round) => round.sizeBytes) / 1e6)} MB, median of ${options.rounds} rounds`,
        `merged: ${Math.round(of((round) => (round.deliveries / round.mergeMs) * 1000))} a second, ${of((round) => round.mergeMs / round.floorMs).toFixed(2)} of the floor's time (read, to text and back)`,
        `merged again with nothing new: ${Math.round(of((round) => round.againMs))} ms`,
        `as a Bundle with Provenance: ${of((round) => round.bundleMs / round.floorMs).toFixed(2)} of the floor's time`,
        `C-CDA: ${median(result.ccda.map(({ ms }) => ms)).toFixed(0)} ms a document`,
        `peak memory of the process: ${Math.round(result.peakMemoryBytes / 2 ** 20)} MiB`,
        '',
      ].join('\n'),
    );
  });
