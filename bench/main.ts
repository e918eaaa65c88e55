import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { MATCH_RULES_VERSION } from '../src/exchange/patients/rules/match-score.ts';
import { loadSamplePatients } from '../src/simulator/samples.ts';
import { totalOf } from './actions/count-actions.ts';
import { benchActions, type Measured as MeasuredActions } from './actions/run.ts';
import { benchBulk } from './bulk/run.ts';
import { benchPublicBulk, type PublicBulkOptions } from './bulk/through-the-interface.ts';
import { benchDocuments } from './documents/run.ts';
import { benchExport } from './export/run.ts';
import { benchGateway, type GatewayBenchOptions, type Measured } from './gateway/run.ts';
import { plotGrowth } from './growth/plot.ts';
import { benchGrowth, type GrowthBenchOptions, type MeasuredOperation } from './growth/run.ts';
import {
  benchInteractive,
  type InteractiveBenchOptions,
  type Phase as InteractivePhase,
} from './interactive/run.ts';
import { benchMatching } from './matching/run.ts';
import { benchMerge, type MergeBenchOptions } from './merge/run.ts';
import { benchPeers, type PeerMeasured, type PeersBenchOptions } from './peers/run.ts';
import { benchQueries } from './query/run.ts';
import { benchFirstSummary, type FirstSummaryOptions } from './records/first-summary.ts';
import { benchLargeRecord, type LargeRecordOptions } from './records/large.ts';
import { benchRecords, type RecordsBenchOptions } from './records/run.ts';
import type { Phase } from './webhooks/deliveries.ts';
import { benchWebhooks, type WebhookBenchOptions } from './webhooks/run.ts';

const whole = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('Expected a whole number above 0.');
  return value;
};

/** What the exchange acts on without a person: creating patients, and accepting those of sources. */
const AUTOMATIC: ReadonlySet<string> = new Set(['create', 'certain']);

const program = new Command('npm run bench --').description(
  'Measure two variants side by side in one run. Compare the ratios, not the absolute rates.',
);
program
  .command('query', { isDefault: true })
  .description('our three-source query against a bare workflow with the same source calls and the same SQL')
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
  .option('--profile <folder>', 'write a CPU profile of our last round')
  .option('--job-queue', 'run our source steps as jobs of pg-boss, without Temporal, too')
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
      const result = await benchQueries(options, (line) => process.stderr.write(`${line}\n`));
      type Figure = 'queriesPerSecond' | 'cpuSecondsPerQuery' | 'postgresCpuSecondsPerQuery';
      const ratioTo = (floor: typeof result.bare, of: Figure) =>
        median(result.ours.map((ours, round) => ours[of] / (floor[round]?.[of] ?? Number.NaN)));
      const ratio = (of: Figure) => ratioTo(result.bare, of);
      const summary = {
        ...result,
        ratios: {
          queriesPerSecond: ratio('queriesPerSecond'),
          cpuSecondsPerQuery: ratio('cpuSecondsPerQuery'),
          postgresCpuSecondsPerQuery: ratio('postgresCpuSecondsPerQuery'),
        },
      };
      if (json === true) {
        process.stdout.write(`${JSON.stringify(summary)}\n`);
        return;
      }
      process.stdout.write(
        [
          `${result.resources} resources a query, ${options.inFlight} in flight, median of ${options.rounds} rounds`,
          `history events: ours ${result.events.ours}, bare ${result.events.bare}`,
          `queries/s: ${summary.ratios.queriesPerSecond.toFixed(2)} of the bare workflow's`,
          `CPU per query: ${summary.ratios.cpuSecondsPerQuery.toFixed(2)} of the bare workflow's`,
          `PostgreSQL's CPU per query: ${summary.ratios.postgresCpuSecondsPerQuery.toFixed(2)} of the bare workflow's`,
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
program
  .command('bulk')
  .description(
    'bulk creates through the public interface of a whole stack against the bare floor: parse, COPY, stringify',
  )
  .option('--rows <n>', 'rows of the file', whole, 100_000)
  .option('--rounds <n>', 'rounds, each with other patients', whole, 2)
  .option('--profile <folder>', 'write a CPU profile of the worker')
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: PublicBulkOptions & { json?: true }) => {
    const result = await benchPublicBulk(options, (line) => process.stderr.write(`${line}\n`));
    if (json === true) {
      process.stdout.write(`${JSON.stringify(result)}\n`);
      return;
    }
    const of = (pick: (round: (typeof result.rounds)[number]) => number) => median(result.rounds.map(pick));
    const mebibytes = (bytes: number | undefined) =>
      bytes === undefined ? 'unknown' : `${Math.round(bytes / 2 ** 20)} MiB`;
    process.stdout.write(
      [
        `${options.rows} rows, median of ${options.rounds} rounds: upload to result ${(of(({ first }) => first.totalMs) / 1000).toFixed(1)} s`,
        `first import: ${of(({ first, floorMs }) => first.totalMs / floorMs).toFixed(2)} of the floor's time`,
        `the same file again: ${of(({ first, again }) => again.totalMs / first.totalMs).toFixed(2)} of the first's`,
        `history events: ${of(({ first }) => first.historyEvents)}`,
        `peak memory: worker ${mebibytes(result.peakBytes.worker)}, gateway ${mebibytes(result.peakBytes.gateway)}`,
        '',
      ].join('\n'),
    );
  });
program
  .command('bulk-engine')
  .description('the steps of a bulk create alone, in one process, against the same floor')
  .option('--rows <n>', 'rows of the file', whole, 20_000)
  .option('--rounds <n>', 'rounds, each with other patients', whole, 3)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: { rows: number; rounds: number; json?: true }) => {
    const result = await benchBulk(options, (line) => process.stderr.write(`${line}\n`));
    const summary = {
      ...result,
      ratios: {
        firstToFloor: median(result.rounds.map(({ first, floorMs }) => first.totalMs / floorMs)),
        againToFirst: median(result.rounds.map(({ first, again }) => again.totalMs / first.totalMs)),
      },
    };
    if (json === true) {
      process.stdout.write(`${JSON.stringify(summary)}\n`);
      return;
    }
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
  });
program
  .command('growth')
  .description('the same calls with more and more patients of one account in the database, made by SQL')
  .option(
    '--sizes <list>',
    'numbers of patients, ascending',
    (text) => text.split(',').map(whole),
    [1_000, 100_000, 1_000_000],
  )
  .option('--calls <n>', 'calls of each kind at each size', whole, 40)
  .option('--statements', 'print the statements that read the most in each call')
  .option('--plot <file>', 'write a plot of the pages read per call (SVG)')
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, plot, ...options }: GrowthBenchOptions & { json?: true; plot?: string }) => {
    const result = await benchGrowth(options, (line) => process.stderr.write(`${line}\n`));
    if (plot !== undefined) await writeFile(plot, plotGrowth(result.measured));
    if (json === true) {
      process.stdout.write(`${JSON.stringify(result)}\n`);
      return;
    }
    const names = [...new Set(result.measured.map(({ name }) => name))];
    const row = (name: string, of: (measured: MeasuredOperation) => string) =>
      result.measured
        .filter((each) => each.name === name)
        .map(of)
        .join(' | ');
    process.stdout.write(
      [
        ...names.map(
          (name) => `${name} | ${row(name, ({ ms, pages }) => `${ms.toFixed(1)} ms, ${pages.toFixed(0)}`)}`,
        ),
        ...result.tables.map(
          ({ table, rows, tableBytesPerPatient, indexBytesPerPatient }) =>
            `${table} | ${rows} | ${tableBytesPerPatient.toFixed(0)} | ${indexBytesPerPatient.toFixed(0)}`,
        ),
        '',
      ].join('\n'),
    );
  });
program
  .command('interactive')
  .description('E4, and a query from E2 to its webhook: alone, beside an import, and beside its queries')
  .option('--rows <n>', 'rows of the imported file', whole, 100_000)
  .option('--seconds <n>', 'duration of the phases without an import', whole, 20)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: InteractiveBenchOptions & { json?: true }) => {
    const result = await benchInteractive(options, (line) => process.stderr.write(`${line}\n`));
    if (json === true) {
      process.stdout.write(`${JSON.stringify(result)}\n`);
      return;
    }
    const [alone] = result.phases;
    const times = (of: 'create' | 'query', phase: InteractivePhase) =>
      (phase[of].p95Ms / (alone?.[of].p95Ms ?? Number.NaN)).toFixed(1);
    const lines = result.phases.map(
      (phase) =>
        `${phase.name}: p95 of E4 ${times('create', phase)}, of a query ${times('query', phase)} times those alone`,
    );
    process.stdout.write(`${lines.join('\n')}\nload of the machine ${result.load.join(' to ')}\n`);
  });
program
  .command('merge')
  .description('merging and reading a record against reading its deliveries; C-CDA against the bare library')
  .option('--sample <key>', 'patient', 'dannie-bogisich')
  .option(
    '--copies <n>',
    'how many times the record is repeated, each time as different resources',
    whole,
    10,
  )
  .option('--rounds <n>', 'rounds', whole, 3)
  .option('--bundle <file>', 'a Synthea bundle (.json.gz) instead of the sample')
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: MergeBenchOptions & { json?: true }) => {
    const result = await benchMerge(options, (line) => process.stderr.write(`${line}\n`));
    if (json === true) {
      process.stdout.write(`${JSON.stringify(result)}\n`);
      return;
    }
    const of = (pick: (round: (typeof result.rounds)[number]) => number) => median(result.rounds.map(pick));
    process.stdout.write(
      [
        `${of((round) => round.deliveries)} deliveries, ${Math.round(of((round) => round.sizeBytes) / 1e6)} MB, median of ${options.rounds} rounds`,
        `merged: ${Math.round(of((round) => (round.deliveries / round.mergeMs) * 1000))} a second, ${of((round) => round.mergeMs / round.floorMs).toFixed(2)} of the floor's time (read, to text and back)`,
        `merged again with nothing new: ${Math.round(of((round) => round.againMs))} ms`,
        `as a Bundle with Provenance: ${of((round) => round.bundleMs / round.floorMs).toFixed(2)} of the floor's time`,
        `C-CDA: ${median(result.ccda.map(({ oursMs }) => oursMs)).toFixed(0)} ms a document, ${median(result.ccda.map(({ oursMs, bareMs }) => oursMs / bareMs)).toFixed(2)} of the bare library's`,
        `peak memory of the process: ${Math.round(result.peakMemoryBytes / 2 ** 20)} MiB`,
        '',
      ].join('\n'),
    );
  });
program
  .command('records')
  .description('a record as html and pdf against the bare calls: to text, and pdfkit with the same texts')
  .option('--rounds <n>', 'rounds', whole, 5)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: RecordsBenchOptions & { json?: true }) => {
    const results = await benchRecords(options, (line) => process.stderr.write(`${line}\n`));
    if (json === true) {
      process.stdout.write(`${JSON.stringify(results)}\n`);
      return;
    }
    const lines = results.map(
      ({ sample, rows, partsMs, partsFloorMs, htmlMs, pdfMs, pdfFloorMs }) =>
        `${sample}: ${rows} rows; read ${partsMs.toFixed(0)} ms (${(partsMs / partsFloorMs).toFixed(1)} of JSON.stringify's time), html ${htmlMs.toFixed(0)} ms, pdf ${pdfMs.toFixed(0)} ms (${(pdfMs / pdfFloorMs).toFixed(2)} of bare pdfkit's)`,
    );
    process.stdout.write(`${lines.join('\n')}\n`);
  });
program
  .command('large-record')
  .description('the summary of one very large record: time and peak memory')
  .option('--megabytes <n>', 'size of the record as FHIR', whole, 100)
  .addOption(new Option('--format <format>', 'result').choices(['html', 'pdf']).default('pdf'))
  .action(async (options: LargeRecordOptions) => {
    const { resources, seconds, ...sizes } = await benchLargeRecord(options);
    const { recordMegabytes, resultMegabytes, peakMegabytes } = sizes;
    process.stdout.write(
      `${resources} resources (${recordMegabytes.toFixed(0)} MB) to ${options.format} (${resultMegabytes.toFixed(0)} MB): ${seconds.toFixed(0)} s, peak memory ${peakMegabytes.toFixed(0)} MB\n`,
    );
  });
program
  .command('first-summary')
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
  .addOption(new Option('--format <format>', 'result').choices(['html', 'pdf', 'json']).default('html'))
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: FirstSummaryOptions & { json?: true }) => {
    const { rounds, load } = await benchFirstSummary(options, (line) => process.stderr.write(`${line}\n`));
    if (json === true) {
      process.stdout.write(`${JSON.stringify({ options, rounds, load })}\n`);
      return;
    }
    const of = (pick: (round: (typeof rounds)[number]) => number) => Math.round(median(rounds.map(pick)));
    process.stdout.write(
      `${of((round) => round.deliveries)} deliveries: accepted after ${of((round) => round.acceptedMs)} ms, completed after ${of((round) => round.completedMs)} ms; a second one after ${of((round) => round.againMs)} ms; load of the machine ${load.map((each) => each.toFixed(1)).join(' to ')}\n`,
    );
  });
program
  .command('documents')
  .description('C-CDA documents to html and pdf against the bare calls of the libraries')
  .option('--rounds <n>', 'rounds', whole, 5)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: { rounds: number; json?: true }) => {
    const documents = await benchDocuments(options, (line) => process.stderr.write(`${line}\n`));
    if (json === true) {
      process.stdout.write(`${JSON.stringify(documents)}\n`);
      return;
    }
    for (const format of ['html', 'pdf'] as const) {
      const oursMs = median(documents.map((each) => each[format].oursMs));
      const ratio = median(documents.map((each) => each[format].oursMs / each[format].bareMs));
      process.stdout.write(
        `${format}: ${oursMs.toFixed(0)} ms a document, ${ratio.toFixed(2)} of the bare libraries'\n`,
      );
    }
  });
program
  .command('gateway')
  .description('GETs at gateways with and without key look-up and read audit')
  .option('--rounds <n>', 'rounds', whole, 5)
  .option('--seconds <n>', 'duration per kind of request, gateway and round', whole, 3)
  .option('--in-flight <n>', 'requests in flight', whole, 32)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: GatewayBenchOptions & { json?: true }) => {
    const result = await benchGateway(options, (line) => process.stderr.write(`${line}\n`));
    if (json === true) {
      process.stdout.write(`${JSON.stringify(result)}\n`);
      return;
    }
    const { measured, load } = result;
    process.stdout.write(
      `${options.inFlight} in flight, median of ${options.rounds} rounds; load of the machine ${load.map((each) => each.toFixed(1)).join(' to ')}\n`,
    );
    // Ratios are taken within a round, because other load on the machine varies between rounds.
    const barest = ({ request, round }: Measured) =>
      measured.find((each) => each.gateway === 'neither' && each.request === request && each.round === round);
    for (const { request, gateway } of measured.filter(({ round }) => round === 1)) {
      const those = measured.filter((each) => each.request === request && each.gateway === gateway);
      const told = (of: 'requestsPerSecond' | 'gatewayCpuMs' | 'postgresCpuMs') => ({
        value: median(those.map((each) => each[of])),
        ratio: median(those.map((each) => each[of] / (barest(each)?.[of] ?? Number.NaN))).toFixed(2),
      });
      const [rate, ours, theirs] = [told('requestsPerSecond'), told('gatewayCpuMs'), told('postgresCpuMs')];
      process.stdout.write(
        `${request}, ${gateway}: ${Math.round(rate.value)}/s (${rate.ratio}); CPU of the gateway ${ours.value.toFixed(2)} ms (${ours.ratio}), of PostgreSQL ${theirs.value.toFixed(2)} ms (${theirs.ratio})\n`,
      );
    }
  });
program
  .command('webhooks')
  .description(
    'signed webhooks from commit to 200: all destinations healthy, one of them dead, and beside a backlog',
  )
  .option('--rounds <n>', 'rounds', whole, 3)
  .option('--seconds <n>', 'duration of each measurement', whole, 10)
  .option('--in-flight <n>', 'events between commit and 200', whole, 40)
  .option('--destinations <n>', 'destinations', whole, 10)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: WebhookBenchOptions & { json?: true }) => {
    const result = await benchWebhooks(options, (line) => process.stderr.write(`${line}\n`));
    const ratioOf = (phases: readonly Phase[], of: 'deliveriesPerSecond' | 'p99Ms') =>
      median(phases.map((phase, round) => phase[of] / (result.healthy[round]?.[of] ?? Number.NaN)));
    const ratio = ratioOf(result.oneDead, 'deliveriesPerSecond');
    const backlogRatio = ratioOf(result.backlog, 'deliveriesPerSecond');
    if (json === true) {
      process.stdout.write(`${JSON.stringify({ ...result, ratio, backlogRatio })}\n`);
      return;
    }
    const cpu = (phases: readonly Phase[]) =>
      (['sender', 'postgres', 'receivers'] as const)
        .map((part) => `${part} ${median(phases.map(({ cpuMs }) => cpuMs[part])).toFixed(2)}`)
        .join(', ');
    const line = (name: string, phases: readonly Phase[]) =>
      `${name}: ${Math.round(median(phases.map((each) => each.deliveriesPerSecond)))}/s, p99 ${Math.round(median(phases.map((each) => each.p99Ms)))} ms; CPU in ms per delivery: ${cpu(phases)}`;
    const load = result.load.map((each) => each.toFixed(1)).join(' to ');
    process.stdout.write(
      [
        `${options.destinations} destinations, ${options.inFlight} in flight, median of ${options.rounds} rounds; load of the machine ${load}`,
        line('all healthy', result.healthy),
        line('one dead', result.oneDead),
        line('nine beside a tenth with 100,000 waiting events', result.backlog),
        `with one dead: ${ratio.toFixed(2)} of the rate with all healthy`,
        `beside the backlog: ${backlogRatio.toFixed(2)} of the rate, ${ratioOf(result.backlog, 'p99Ms').toFixed(2)} times the p99`,
        '',
      ].join('\n'),
    );
  });
program
  .command('peers')
  .description(
    "the same records in ours, by queries, and in HAPI's JPA server, by transactions (needs Java, Maven)",
  )
  .option('--patients <n>', 'patients of each server per round', whole, 30)
  .option('--rounds <n>', 'rounds', whole, 3)
  .option('--in-flight <n>', 'patients at the same time', whole, 8)
  .option('--sample <key>', 'patient whose records are copied', 'keith-kiehn')
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: PeersBenchOptions & { json?: true }) => {
    const result = await benchPeers(options, (line) => process.stderr.write(`${line}\n`));
    if (json === true) {
      process.stdout.write(`${JSON.stringify(result)}\n`);
      return;
    }
    const line = (name: string, measured: readonly PeerMeasured[]) => {
      const of = (pick: (each: PeerMeasured) => number) => median(measured.map(pick));
      const temporal = of(({ cpuMs }) => cpuMs.temporal ?? 0);
      return `${name}: ${Math.round(of((each) => each.resourcesPerSecond))} resources/s; CPU in ms per resource: server ${of(({ cpuMs }) => cpuMs.server).toFixed(2)}, PostgreSQL ${of(({ cpuMs }) => cpuMs.postgres).toFixed(2)}${temporal === 0 ? '' : `, Temporal ${temporal.toFixed(2)}`}`;
    };
    process.stdout.write(
      [
        `${result.resources} resources a patient, ${options.inFlight} patients in flight, median of ${options.rounds} rounds; load of the machine ${result.load.map((each) => each.toFixed(1)).join(' to ')}`,
        line('ours', result.ours),
        ...(result.hapi.length === 0 ? [] : [line('HAPI', result.hapi)]),
        '',
      ].join('\n'),
    );
  });
program
  .command('actions')
  .description(
    'billed actions of Temporal Cloud for the main jobs, counted from the histories of a whole stack',
  )
  .option(
    '--rows <list>',
    'rows of the imports, separated by commas',
    (text) => text.split(',').map(whole),
    [1_000, 10_000],
  )
  .option('--monitored <n>', 'patients of the monitored cohort', whole, 100)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: { rows: number[]; monitored: number; json?: true }) => {
    const lines = ({ name, runs, actions, heartbeats }: MeasuredActions) =>
      [
        `${name}: ${Object.values(actions).reduce((sum, each) => sum + totalOf(each), heartbeats)} actions`,
        ...Object.entries(actions).map(([type, each]) => {
          const kinds = Object.entries(each).filter(([, count]) => count > 0);
          return `  ${runs[type]} ${type}: ${totalOf(each)} (${kinds.map(([kind, count]) => `${kind} ${count}`).join(', ')})`;
        }),
        `  heartbeats: ${heartbeats}`,
      ].join('\n');
    const result = await benchActions(options, (measured) => process.stderr.write(`${lines(measured)}\n`));
    if (json === true) process.stdout.write(`${JSON.stringify(result)}\n`);
  });
program
  .command('export')
  .description(
    'a bulk export of many patients, the memory of its process, and plain reading of the same records',
  )
  .option('--patients <n>', 'copies of the sample patients', whole, 1_000)
  .option('--kill', 'kill the exporting process half-way, and let another one go on')
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: { patients: number; kill?: true; json?: true }) => {
    const result = await benchExport(options, (line) => process.stderr.write(`${line}\n`));
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
program
  .command('matching')
  .description("precision and recall of the matching rules on FEBRL's data sets; fetches them with pip")
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json }: { json?: true }) => {
    const results = await benchMatching();
    const merged = results.flatMap(({ rules }) => rules).filter(({ rule }) => AUTOMATIC.has(rule));
    const falseMerges = merged.reduce((sum, { falsePairs }) => sum + falsePairs, 0);
    if (falseMerges > 0) process.exitCode = 1;
    if (json === true) {
      process.stdout.write(
        `${JSON.stringify({ rulesVersion: MATCH_RULES_VERSION, results, falseMerges })}\n`,
      );
      return;
    }
    const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
    for (const { dataSet, records, pairs, completePairs, rules } of results) {
      process.stdout.write(`${dataSet}: ${records} records, ${pairs} pairs, ${completePairs} complete\n`);
      for (const { rule, truePairs, falsePairs } of rules)
        process.stdout.write(
          `  ${rule}: ${truePairs} true, ${falsePairs} false; precision ${percent(truePairs, truePairs + falsePairs)}, recall ${percent(truePairs, pairs)}\n`,
        );
    }
    process.stdout.write(`false merges by rules version ${MATCH_RULES_VERSION}: ${falseMerges}\n`);
  });
await program.parseAsync();

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
