import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { note, printJson, whole } from '../command-parts.ts';
import { plotGrowth } from './plot.ts';
import {
  benchGrowth,
  type GrowthBenchOptions,
  type MeasuredOperation,
} from './run.ts';

export const growthCommand = new Command('growth')
  .description(
    'the same calls with more and more patients in the database, made by SQL',
  )
  .option(
    '--sizes <list>',
    'numbers of patients, ascending',
    (text) => text.split(',').map(whole),
    [1_000, 100_000, 1_000_000],
  )
  .option(
    '--accounts <n>',
    'accounts that the patients are spread over',
    whole,
    1,
  )
  .option('--calls <n>', 'calls of each kind at each size', whole, 40)
  .option(
    '--statements',
    'print the statements that read the most in each call',
  )
  .option('--plot <file>', 'write a plot of the pages read per call (SVG)')
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({
      json,
      plot,
      ...options
    }: GrowthBenchOptions & { json?: true; plot?: string }) => {
      const result = await benchGrowth(options, note);
      if (plot !== undefined)
        await writeFile(plot, plotGrowth(result.measured));
      if (json === true) return printJson(result);
      const names = [...new Set(result.measured.map(({ name }) => name))];
      const row = (name: string, of: (measured: MeasuredOperation) => string) =>
        result.measured
          .filter((each) => each.name === name)
          .map(of)
          .join(' | ');
      process.stdout.write(
        [
          ...names.map(
            (name) =>
              `${name} | ${row(name, ({ ms, pages }) => `${ms.toFixed(1)} ms, ${pages.toFixed(0)}`)}`,
          ),
          ...result.tables.map(
            ({ table, rows, tableBytesPerPatient, indexBytesPerPatient }) =>
              `${table} | ${rows} | ${tableBytesPerPatient.toFixed(0)} | ${indexBytesPerPatient.toFixed(0)}`,
          ),
          '',
        ].join('\n'),
      );
    },
  );
