import { Command } from 'commander';
import { note, whole } from '../command-parts.ts';
import { benchExport } from './run.ts';

export const exportCommand = new Command('export')
  .description(
    'a bulk export of many patients, the memory of its process, and plain reading of the same records',
  )
  .option('--patients <n>', 'copies of the sample patients', whole, 1_000)
  .option('--kill', 'kill the exporting process half-way, and let another one go on')
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: { patients: number; kill?: true; json?: true }) => {
    const result = await benchExport(options, note);
    const { patients, lines, exportSeconds, read, memory, kills, load } = result;
    const a = (count: number, seconds: number) => `${Math.round(count / seconds)} a second`;
    process.stdout.write(
      json === true
        ? `${JSON.stringify(result)}\n`
        : [
            `export: ${patients} patients, ${lines} lines in ${exportSeconds.toFixed(1)} s, ${a(lines, exportSeconds)}`,
            `resources without Provenance: ${a(read.resources, exportSeconds)}`,
            `plain reading: ${read.resources} resources in ${read.seconds.toFixed(1)} s, ${a(read.resources, read.seconds)}`,
            `memory in MB: ${memory.before} before; by quarter ${memory.quarters.map(({ mean, highest }) => `${mean} (at most ${highest})`).join(', ')}`,
            `killed ${kills} times`,
            `load average ${load.map((each) => each.toFixed(1)).join(' to ')}`,
            '',
          ].join('\n'),
    );
  });
