import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import { benchBulk } from './run.ts';
import {
  benchPublicBulk,
  type PublicBulkOptions,
} from './through-the-interface.ts';

export const bulkCommand = new Command('bulk')
  .description(
    'bulk creates through the public interface of a whole stack against the bare floor: parse, COPY, stringify',
  )
  .option('--rows <n>', 'rows of the file', whole, 100_000)
  .option('--rounds <n>', 'rounds, each with other patients', whole, 2)
  .option(
    '--asked',
    'import other patients too, while the caller asks for the status five times a second',
  )
  .option('--profile <folder>', 'write a CPU profile of the worker')
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: PublicBulkOptions & { json?: true }) => {
    const result = await benchPublicBulk(options, note);
    if (json === true) return printJson(result);
    const of = (pick: (round: (typeof result.rounds)[number]) => number) =>
      median(result.rounds.map(pick));
    const mebibytes = (bytes: number | undefined) =>
      bytes === undefined ? 'unknown' : `${Math.round(bytes / 2 ** 20)} MiB`;
    process.stdout.write(
      [
        `${options.rows} rows, median of ${options.rounds} rounds: upload to result ${(of(({ first }) => first.totalMs) / 1000).toFixed(1)} s`,
        `first import: ${of(({ first, floorMs }) => first.totalMs / floorMs).toFixed(2)} of the floor's time`,
        `the same file again: ${of(({ first, again }) => again.totalMs / first.totalMs).toFixed(2)} of the first's`,
        ...(options.asked === true
          ? [
              `while its caller asks for its status: ${of(({ first, asked }) => (asked?.totalMs ?? Number.NaN) / first.totalMs).toFixed(2)} of the first's`,
            ]
          : []),
        `history events: ${of(({ first }) => first.historyEvents)}`,
        `peak memory: worker ${mebibytes(result.peakBytes.worker)}, gateway ${mebibytes(result.peakBytes.gateway)}`,
        '',
      ].join('\n'),
    );
  });

export const bulkEngineCommand = new Command('bulk-engine')
  .description(
    'the steps of a bulk create alone, in one process, against the same floor',
  )
  .option('--rows <n>', 'rows of the file', whole, 20_000)
  .option('--rounds <n>', 'rounds, each with other patients', whole, 3)
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({
      json,
      ...options
    }: {
      rows: number;
      rounds: number;
      json?: true;
    }) => {
      const result = await benchBulk(options, note);
      const summary = {
        ...result,
        ratios: {
          firstToFloor: median(
            result.rounds.map(({ first, floorMs }) => first.totalMs / floorMs),
          ),
          againToFirst: median(
            result.rounds.map(
              ({ first, again }) => again.totalMs / first.totalMs,
            ),
          ),
        },
      };
      if (json === true) return printJson(summary);
      const firstMs = median(result.rounds.map(({ first }) => first.totalMs));
      process.stdout.write(
        [
          `${options.rows} rows, median of ${options.rounds} rounds: ${(firstMs / 1000).toFixed(1)} s, ${Math.round((options.rows / firstMs) * 1000)} rows/s`,
          `first import: ${summary.ratios.firstToFloor.toFixed(2)} of the floor's time`,
          `the same file again: ${summary.ratios.againToFirst.toFixed(2)} of the first's`,
          `peak memory of the process: ${Math.round(result.peakMemoryBytes / 2 ** 20)} MiB`,
          '',
        ].join('\n'),
      );
    },
  );
