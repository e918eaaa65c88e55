import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import { benchFanOut, type FanOutBenchOptions } from './run.ts';

export const fanOutCommand = new Command('fan-out')
  .description(
    'one query over the gateways of a simulated network, of which some are slow, hang, fail or answer later (needs openssl)',
  )
  .option('--gateways <n>', 'gateways of the network', whole, 100)
  .option('--queries <n>', 'queries at once, of as many patients', whole, 1)
  .option('--rounds <n>', 'the same so many times, in turn', whole, 1)
  .option('--kills <n>', 'how often the worker is killed meanwhile', Number, 0)
  .option('--silent', 'no gateway knows the patient, and all answer at once')
  .option('--interactive', 'beside a caller who queries the lab')
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({ json, ...options }: FanOutBenchOptions & { json?: true }) => {
      const result = await benchFanOut(options, note);
      const { bare, ended, interactive, load, memory } = result;
      const queries = options.queries * options.rounds;
      const isRight =
        result.endedOtherwise === 0 &&
        result.found === result.foundExpected &&
        (options.kills > 0 || result.askedAgain === 0);
      process.exitCode = isRight ? 0 : 1;
      if (json === true) return printJson(result);

      const fixed = (value: number | undefined) =>
        value === undefined || Number.isNaN(value) ? '–' : value.toFixed(1);
      process.stdout.write(
        [
          `${options.rounds} x ${options.queries} x ${options.gateways} gateways; load of the machine ${load.map(fixed).join(' to ')}`,
          `ended after ${fixed(median(result.seconds))} s (median), first data after ${fixed(median(result.firstDataSeconds))} s`,
          `found ${result.found} of ${result.foundExpected}; ${Object.entries(
            ended,
          )
            .map(([state, count]) => `${state} ${count}`)
            .join(
              ', ',
            )}; ended otherwise than expected ${result.endedOtherwise}`,
          `${result.asks} questions; asked again without being due: ${result.askedAgain} gateways`,
          `at most ${result.events} events and ${result.actions} actions of a query`,
          `worker ${fixed(result.workerMs / 1_000)} s of CPU; a gateway ${fixed(result.workerMs / queries / options.gateways)} ms, beyond signature (${fixed(bare.signatureMs)}) and TLS (${fixed(bare.tlsMs)}) ${fixed(result.beyondMs)} ms`,
          `memory of the worker ${memory.before} MB before`,
          ...memory.rounds.map(
            ({ resident, young, old }) =>
              `  at most ${resident} MB in a round; then its heap has ${young} MB for new objects, and ${old} MB of others`,
          ),
          ...(interactive === undefined
            ? []
            : [
                `a query of the lab until its webhook: alone ${fixed(interactive.alone.p50Ms)} ms (p95 ${fixed(interactive.alone.p95Ms)}), beside ${fixed(interactive.beside.p50Ms)} ms (p95 ${fixed(interactive.beside.p95Ms)})`,
              ]),
          '',
        ].join('\n'),
      );
    },
  );
