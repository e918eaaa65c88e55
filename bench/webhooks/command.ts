import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import type { Phase } from './deliveries.ts';
import { benchWebhooks, type WebhookBenchOptions } from './run.ts';

export const webhooksCommand = new Command('webhooks')
  .description(
    'signed webhooks from commit to 200: all destinations healthy, one of them dead, and beside a backlog',
  )
  .option('--rounds <n>', 'rounds', whole, 3)
  .option('--seconds <n>', 'duration of each measurement', whole, 10)
  .option('--in-flight <n>', 'events between commit and 200', whole, 40)
  .option('--destinations <n>', 'destinations', whole, 10)
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({ json, ...options }: WebhookBenchOptions & { json?: true }) => {
      const result = await benchWebhooks(options, note);
      const ratioOf = (
        phases: readonly Phase[],
        of: 'deliveriesPerSecond' | 'p99Ms',
      ) =>
        median(
          phases.map(
            (phase, round) =>
              phase[of] / (result.healthy[round]?.[of] ?? Number.NaN),
          ),
        );
      const ratio = ratioOf(result.oneDead, 'deliveriesPerSecond');
      const backlogRatio = ratioOf(result.backlog, 'deliveriesPerSecond');
      if (json === true) return printJson({ ...result, ratio, backlogRatio });
      const cpu = (phases: readonly Phase[]) =>
        (['sender', 'postgres', 'receivers'] as const)
          .map(
            (part) =>
              `${part} ${median(phases.map(({ cpuMs }) => cpuMs[part])).toFixed(2)}`,
          )
          .join(', ');
      const line = (name: string, phases: readonly Phase[]) =>
        `${name}: ${Math.round(median(phases.map((each) => each.deliveriesPerSecond)))}/s, p99 ${Math.round(median(phases.map((each) => each.p99Ms)))} ms; CPU in ms per delivery: ${cpu(phases)}`;
      const load = result.load.map((each) => each.toFixed(1)).join(' to ');
      process.stdout.write(
        [
          `${options.destinations} destinations, ${options.inFlight} in flight, median of ${options.rounds} rounds; load of the machine ${load}`,
          line('all healthy', result.healthy),
          line('one dead', result.oneDead),
          line(
            'nine beside a tenth with 100,000 waiting events',
            result.backlog,
          ),
          `with one dead: ${ratio.toFixed(2)} of the rate with all healthy`,
          `beside the backlog: ${backlogRatio.toFixed(2)} of the rate, ${ratioOf(result.backlog, 'p99Ms').toFixed(2)} times the p99`,
          '',
        ].join('\n'),
      );
    },
  );
