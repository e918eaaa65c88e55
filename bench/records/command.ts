import { Command, Option } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import {
  benchFirstSummary,
  type FirstSummaryOptions,
} from './first-summary.ts';
import { benchLargeRecord, type LargeRecordOptions } from './large.ts';
import { benchPageOne } from './page-one.ts';
import { benchRecords, type RecordsBenchOptions } from './run.ts';

export const recordsCommand = new Command('records')
  .description(
    'a record as html and pdf against the bare calls: to text, and pdfkit with the same texts',
  )
  .option('--rounds <n>', 'rounds', whole, 5)
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({ json, ...options }: RecordsBenchOptions & { json?: true }) => {
      const results = await benchRecords(options, note);
      if (json === true) return printJson(results);
      const lines = results.map(
        ({ sample, rows, partsMs, partsFloorMs, htmlMs, pdfMs, pdfFloorMs }) =>
          `${sample}: ${rows} rows; read ${partsMs.toFixed(0)} ms (${(partsMs / partsFloorMs).toFixed(1)} of JSON.stringify's time), html ${htmlMs.toFixed(0)} ms, pdf ${pdfMs.toFixed(0)} ms (${(pdfMs / pdfFloorMs).toFixed(2)} of bare pdfkit's)`,
      );
      process.stdout.write(`${lines.join('\n')}\n`);
    },
  );

export const largeRecordCommand = new Command('large-record')
  .description('the summary of one very large record: time and peak memory')
  .option('--megabytes <n>', 'size of the record as FHIR', whole, 100)
  .addOption(
    new Option('--format <format>', 'result')
      .choices(['html', 'pdf'])
      .default('pdf'),
  )
  .action(async (options: LargeRecordOptions) => {
    const { resources, seconds, ...sizes } = await benchLargeRecord(options);
    const { recordMegabytes, resultMegabytes, peakMegabytes } = sizes;
    process.stdout.write(
      `${resources} resources (${recordMegabytes.toFixed(0)} MB) to ${options.format} (${resultMegabytes.toFixed(0)} MB): ${seconds.toFixed(0)} s, peak memory ${peakMegabytes.toFixed(0)} MB\n`,
    );
  });

export const firstSummaryCommand = new Command('first-summary')
  .description(
    'on a whole stack: the first summary of a record of which nothing has been merged, and a second one',
  )
  .option('--sample <key>', 'patient', 'keith-kiehn')
  .option(
    '--copies <n>',
    'how many times the record is repeated, each time as different resources',
    whole,
    29,
  )
  .option('--rounds <n>', 'rounds, each with another patient', whole, 3)
  .addOption(
    new Option('--format <format>', 'result')
      .choices(['html', 'pdf', 'json', 'page'])
      .default('html'),
  )
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({ json, ...options }: FirstSummaryOptions & { json?: true }) => {
      const { rounds, load } = await benchFirstSummary(options, note);
      if (json === true) return printJson({ options, rounds, load });
      const of = (pick: (round: (typeof rounds)[number]) => number) =>
        Math.round(median(rounds.map(pick)));
      process.stdout.write(
        `${of((round) => round.deliveries)} deliveries: ${options.format === 'page' ? 'overview' : 'accepted'} after ${of((round) => round.acceptedMs)} ms, completed after ${of((round) => round.completedMs)} ms; a second one ${of((round) => round.againAcceptedMs)} and ${of((round) => round.againMs)} ms; load of the machine ${load.map((each) => each.toFixed(1)).join(' to ')}\n`,
      );
    },
  );

export const pageOneCommand = new Command('page-one')
  .description(
    'whether page one says, on every door, the facts of test/support/page-one-facts.ts',
  )
  .requiredOption('--data <folder>', 'Bundles of people, *.json.gz')
  .action(async ({ data }: { data: string }) => {
    for (const { person, facts, missing } of await benchPageOne(data)) {
      const doors = Object.entries(missing).map(
        ([door, not]) =>
          `${door} ${facts - not.length}${not.length === 0 ? '' : ` (not: ${not.join('; ')})`}`,
      );
      process.stdout.write(`${person}, of ${facts}: ${doors.join(', ')}\n`);
    }
  });
