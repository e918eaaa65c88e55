import { Command } from 'commander';
import { note, whole } from '../command-parts.ts';
import { benchExport } from './run.ts';

export const exportCommand = commandOf(
  'export',
  'a bulk export of many patients, the memory of its process, and plain reading of the same records',
);
export const viewsCommand = commandOf(
  'views',
  'the ready-made views of many patients as Parquet, the memory of its process, and plain reading of the same records',
  [
    'patients',
    'conditions',
    'medications',
    'results',
    'encounters',
    'completeness',
    'query-outcomes',
  ],
);

function commandOf(
  name: string,
  description: string,
  views?: readonly string[],
) {
  return new Command(name)
    .description(description)
    .option('--patients <n>', 'copies of the sample patients', whole, 1_000)
    .option(
      '--kill',
      'kill the exporting process half-way, and let another one go on',
    )
    .option('--json', 'print the result as one JSON line')
    .action(
      async ({
        json,
        ...options
      }: {
        patients: number;
        kill?: true;
        json?: true;
      }) => {
        const result = await benchExport({ ...options, views }, note);
        const {
          patients,
          lines,
          exportSeconds,
          read,
          memory,
          kills,
          load,
          cpuSeconds,
        } = result;
        const a = (count: number, seconds: number) =>
          `${Math.round(count / seconds)} a second`;
        process.stdout.write(
          json === true
            ? `${JSON.stringify(result)}\n`
            : [
                `export: ${patients} patients, ${lines} lines in ${exportSeconds.toFixed(1)} s, ${a(lines, exportSeconds)}`,
                `resources without Provenance: ${a(read.resources, exportSeconds)}`,
                `plain reading: ${read.resources} resources in ${read.seconds.toFixed(1)} s, ${a(read.resources, read.seconds)}`,
                `memory in MB: ${memory.before} before; by quarter ${memory.quarters.map(({ mean, highest }) => `${mean} (at most ${highest})`).join(', ')}`,
                `processor time: ${cpuSeconds.exported.toFixed(1)} s, plain reading ${cpuSeconds.read.toFixed(1)} s`,
                `killed ${kills} times`,
                `load average ${load.map((each) => each.toFixed(1)).join(' to ')}`,
                '',
              ].join('\n'),
        );
      },
    );
}
