import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import {
  benchLatency,
  type LatencyBenchOptions,
  type LatencyRound,
} from './run.ts';

export const latencyCommand = new Command('latency')
  .description(
    'from the answer of E2 to the webhook, less what the source took, alone on a whole stack; beside a bare workflow of one activity',
  )
  .option('--rounds <n>', 'rounds', whole, 3)
  .option('--patients <n>', 'patients a round, each queried twice', whole, 40)
  .option('--sample <key>', 'patient', 'keith-kiehn')
  .option('--timeline', 'print what happened when in one of the last queries')
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({
      json,
      timeline,
      ...options
    }: LatencyBenchOptions & { json?: true; timeline?: true }) => {
      const result = await benchLatency(options, note);
      if (json === true) return printJson(result);
      if (timeline === true)
        for (const { atMs, what } of result.timeline)
          process.stdout.write(`${atMs.toFixed(1).padStart(8)} ms  ${what}\n`);
      const { rounds } = result;
      const line = (name: string, of: 'first' | 'again') => {
        const [p50, p95] = (['p50Ms', 'p95Ms'] as const).map((figure) =>
          median(rounds.map((round) => round[of][figure])).toFixed(0),
        );
        const floor = median(
          rounds.map(
            (round: LatencyRound) => round[of].p50Ms - round.bare.p50Ms,
          ),
        );
        return `${name}: median ${p50} ms, p95 ${p95} ms beyond the source's own time; the median is ${floor.toFixed(0)} ms above a bare workflow's`;
      };
      process.stdout.write(
        `${line('a first query', 'first')}\n${line('the same again', 'again')}\n`,
      );
    },
  );
