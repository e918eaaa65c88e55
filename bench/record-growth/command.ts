import { Command } from 'commander';
import { note, printJson, whole } from '../command-parts.ts';
import { benchRecordGrowth, type RecordGrowthOptions } from './run.ts';

export const recordGrowthCommand = new Command('record-growth')
  .description(
    'one record, made by a real query, copied to more and more patients: bytes, vacuum, backup, restore, first and later reads',
  )
  .option(
    '--sizes <list>',
    'numbers of records, ascending',
    (text) => text.split(',').map(whole),
    [100, 1_000, 5_000],
  )
  .option('--sample <key>', 'patient', 'keith-kiehn')
  .option(
    '--no-packed',
    'copies of a record as it was merged, with all of it in rows',
  )
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({
      json,
      packed,
      ...options
    }: Omit<RecordGrowthOptions, 'isPacked'> & {
      packed: boolean;
      json?: true;
    }) => {
      const measured = await benchRecordGrowth(
        { ...options, isPacked: packed },
        note,
      );
      if (json === true) return printJson(measured);
      const lines = measured.map((each) =>
        [
          `${each.records} records: ${(each.bytesPerRecord / 1000).toFixed(0)} kB each`,
          `vacuum analyze ${each.vacuumSeconds.toFixed(1)} s`,
          `backup of ${(each.backupBytes / 1e9).toFixed(2)} GB ${each.backupSeconds.toFixed(1)} s`,
          `started on it after ${each.restoreSeconds.toFixed(1)} s`,
          `a first read ${each.firstReadMs.toFixed(0)} ms, a later one ${each.laterReadMs.toFixed(0)} ms`,
        ].join('; '),
      );
      const tables = measured
        .at(-1)
        ?.tables.map(
          ({ table, tableBytesPerPatient, indexBytesPerPatient }) =>
            `${table} | ${tableBytesPerPatient.toFixed(0)} | ${indexBytesPerPatient.toFixed(0)}`,
        );
      process.stdout.write(`${[...lines, ...(tables ?? [])].join('\n')}\n`);
    },
  );
