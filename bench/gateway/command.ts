import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import {
  benchGateway,
  type GatewayBenchOptions,
  type Measured,
} from './run.ts';

export const gatewayCommand = new Command('gateway')
  .description('GETs at gateways with and without key look-up and read audit')
  .option('--rounds <n>', 'rounds', whole, 5)
  .option(
    '--seconds <n>',
    'duration per kind of request, gateway and round',
    whole,
    3,
  )
  .option('--in-flight <n>', 'requests in flight', whole, 32)
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({ json, ...options }: GatewayBenchOptions & { json?: true }) => {
      const result = await benchGateway(options, note);
      if (json === true) return printJson(result);
      const { measured, load } = result;
      process.stdout.write(
        `${options.inFlight} in flight, median of ${options.rounds} rounds; load of the machine ${load.map((each) => each.toFixed(1)).join(' to ')}\n`,
      );
      // Ratios are taken within a round, because other load on the machine
      // varies between rounds.
      const barest = ({ request, round }: Measured) =>
        measured.find(
          (each) =>
            each.gateway === 'neither' &&
            each.request === request &&
            each.round === round,
        );
      for (const { request, gateway } of measured.filter(
        ({ round }) => round === 1,
      )) {
        const those = measured.filter(
          (each) => each.request === request && each.gateway === gateway,
        );
        const figure = (
          of: 'requestsPerSecond' | 'gatewayCpuMs' | 'postgresCpuMs',
        ) => ({
          value: median(those.map((each) => each[of])),
          ratio: median(
            those.map((each) => each[of] / (barest(each)?.[of] ?? Number.NaN)),
          ).toFixed(2),
        });
        const rate = figure('requestsPerSecond');
        const ours = figure('gatewayCpuMs');
        const theirs = figure('postgresCpuMs');
        process.stdout.write(
          `${request}, ${gateway}: ${Math.round(rate.value)}/s (${rate.ratio}); CPU of the gateway ${ours.value.toFixed(2)} ms (${ours.ratio}), of PostgreSQL ${theirs.value.toFixed(2)} ms (${theirs.ratio})\n`,
        );
      }
    },
  );
