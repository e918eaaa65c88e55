import { Command } from 'commander';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { median, note, printJson, whole } from '../command-parts.ts';
import { measurePureWork } from './pure.ts';
import type { RecordBytes } from './record-bytes.ts';
import { benchQueries } from './run.ts';

export const queryCommand = new Command('query')
  .description(
    'our three-source query against a bare workflow with the same source calls and the same SQL',
  )
  .option('--queries <n>', 'queries of each variant per round', whole, 200)
  .option('--rounds <n>', 'rounds', whole, 3)
  .option('--in-flight <n>', 'queries in flight', whole, 40)
  .option(
    '--sample <key>',
    `patient: ${loadSamplePatients()
      .map(({ key }) => key)
      .join(', ')}`,
    'keith-kiehn',
  )
  .option(
    '--profile <folder>',
    'write CPU profiles of our last round: first queries, and the same again',
  )
  .option(
    '--job-queue',
    'run our source steps as jobs of pg-boss, without Temporal, too',
  )
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({
      json,
      ...options
    }: {
      queries: number;
      rounds: number;
      inFlight: number;
      sample: string;
      profile?: string;
      jobQueue?: true;
      json?: true;
    }) => {
      const result = await benchQueries(options, note);
      type Figure =
        | 'queriesPerSecond'
        | 'cpuSecondsPerQuery'
        | 'postgresCpuSecondsPerQuery';
      const ratioTo = (floor: typeof result.bare, of: Figure) =>
        median(
          result.ours.map(
            (ours, round) => ours[of] / (floor[round]?.[of] ?? Number.NaN),
          ),
        );
      const againRatio = (of: Figure) =>
        median(
          result.again.map(
            (again, round) =>
              again[of] / (result.ours[round]?.[of] ?? Number.NaN),
          ),
        );
      const perQuery = (of: keyof RecordBytes) =>
        median(result.bytes.map((bytes) => bytes[of])) / options.queries;
      const written = {
        source: perQuery('source'),
        blobs: perQuery('blobs'),
        tables: perQuery('tables'),
      };
      const ratio = (of: Figure) => ratioTo(result.bare, of);
      const summary = {
        ...result,
        ratios: {
          queriesPerSecond: ratio('queriesPerSecond'),
          cpuSecondsPerQuery: ratio('cpuSecondsPerQuery'),
          postgresCpuSecondsPerQuery: ratio('postgresCpuSecondsPerQuery'),
        },
      };
      if (json === true) return printJson(summary);
      process.stdout.write(
        [
          `${result.resources} resources a query, ${options.inFlight} in flight, median of ${options.rounds} rounds`,
          `history events: ours ${result.events.ours}, bare ${result.events.bare}`,
          `queries/s: ${summary.ratios.queriesPerSecond.toFixed(2)} of the bare workflow's`,
          `CPU per query: ${summary.ratios.cpuSecondsPerQuery.toFixed(2)} of the bare workflow's`,
          `a second query in which nothing changed: CPU ${againRatio('cpuSecondsPerQuery').toFixed(2)} of the first, PostgreSQL's CPU ${againRatio('postgresCpuSecondsPerQuery').toFixed(2)}`,
          `PostgreSQL's CPU per query: ${summary.ratios.postgresCpuSecondsPerQuery.toFixed(2)} of the bare workflow's`,
          `a record as it was written takes ${besideSource(written)}`,
          `a record at rest takes ${besideSource(result.bytesAtRest)}`,
          ...(options.jobQueue === true
            ? [
                `beside the same steps as jobs of pg-boss: queries/s ${ratioTo(result.jobQueue, 'queriesPerSecond').toFixed(2)}, CPU ${ratioTo(result.jobQueue, 'cpuSecondsPerQuery').toFixed(2)}, PostgreSQL's CPU ${ratioTo(result.jobQueue, 'postgresCpuSecondsPerQuery').toFixed(2)}`,
              ]
            : []),
          '',
        ].join('\n'),
      );
    },
  );

const besideSource = ({ source, blobs, tables }: RecordBytes): string =>
  `${((blobs + tables) / source).toFixed(2)} times the bytes of its sources: ${(tables / source).toFixed(2)} in PostgreSQL, ${(blobs / source).toFixed(2)} in blobs`;

export const pureCommand = new Command('pure')
  .description(
    'the work of a first query without Temporal, PostgreSQL, network and disk, against parsing its pages and writing them again',
  )
  .option('--sample <key>', 'patient', 'keith-kiehn')
  .option(
    '--passes <n>',
    'passes that are measured, after as many that are not',
    whole,
    30,
  )
  .option('--json', 'print the result as one JSON line')
  .action(
    ({
      sample: key,
      passes,
      json,
    }: {
      sample: string;
      passes: number;
      json?: true;
    }) => {
      const sample = loadSamplePatients().find((each) => each.key === key);
      if (sample === undefined)
        throw new Error(`There is no sample patient ${key}`);
      const result = measurePureWork(sample, passes);
      if (json === true) return printJson(result);
      const { pages, ccda, merging, floor, deliveries } = result;
      const [all, ...parts] = [
        pages + ccda + merging,
        pages,
        ccda,
        merging,
        floor,
      ].map((ms) => ms.toFixed(1));
      process.stdout.write(
        `${deliveries} deliveries: ${all} ms of CPU (pages ${parts[0]}, C-CDA ${parts[1]}, merging ${parts[2]}), ` +
          `${((pages + ccda + merging) / floor).toFixed(1)} times the ${parts[3]} ms of parsing and writing the pages\n`,
      );
    },
  );
