import { Command } from 'commander';
import { note, printJson, whole } from '../command-parts.ts';
import {
  benchInteractive,
  type InteractiveBenchOptions,
  type Phase as InteractivePhase,
} from './run.ts';

export const interactiveCommand = new Command('interactive')
  .description(
    'E4, and a query from E2 to its webhook: alone, beside an import, and beside its queries',
  )
  .option('--rows <n>', 'rows of the imported file', whole, 100_000)
  .option(
    '--seconds <n>',
    'duration of the phases without an import',
    whole,
    20,
  )
  .option('--json', 'print the result as one JSON line')
  .action(
    async ({ json, ...options }: InteractiveBenchOptions & { json?: true }) => {
      const result = await benchInteractive(options, note);
      if (json === true) return printJson(result);
      const [alone] = result.phases;
      const times = (of: 'create' | 'query', phase: InteractivePhase) =>
        (phase[of].p95Ms / (alone?.[of].p95Ms ?? Number.NaN)).toFixed(1);
      const lines = result.phases.map(
        (phase) =>
          `${phase.name}: p95 of E4 ${times('create', phase)}, of a query ${times('query', phase)} times those alone`,
      );
      process.stdout.write(
        `${lines.join('\n')}\nload of the machine ${result.load.join(' to ')}\n`,
      );
    },
  );
