import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import type { PeerMeasured } from './measured.ts';
import { benchPeers, type PeersBenchOptions } from './run.ts';

export const peersCommand = new Command('peers')
  .description(
    "the same records in ours, by queries, and in HAPI's JPA server, by transactions (needs Java, Maven)",
  )
  .option('--patients <n>', 'patients of each server per round', whole, 30)
  .option('--rounds <n>', 'rounds', whole, 3)
  .option('--in-flight <n>', 'patients at the same time', whole, 8)
  .option('--sample <key>', 'patient whose records are copied', 'keith-kiehn')
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: PeersBenchOptions & { json?: true }) => {
    const result = await benchPeers(options, note);
    if (json === true) return printJson(result);
    const line = (name: string, measured: readonly PeerMeasured[]) => {
      const of = (pick: (each: PeerMeasured) => number) =>
        median(measured.map(pick));
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
