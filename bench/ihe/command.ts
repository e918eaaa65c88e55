import { Command } from 'commander';
import { median, note, printJson, whole } from '../command-parts.ts';
import { benchIhe, type IheBenchOptions } from './run.ts';

export const iheCommand = new Command('ihe')
  .description(
    'the same documents collected over IHE (XCPD, XCA), signed, and over FHIR (MHD) (needs openssl)',
  )
  .option('--rounds <n>', 'rounds', whole, 5)
  .option('--documents <n>', 'documents of the patient', whole, 40)
  .option('--kilobytes <n>', 'size of each document', whole, 300)
  .option('--entries <n>', 'entries of the long list', whole, 2_000)
  .option('--megabytes <n>', 'size of the large document', whole, 100)
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json, ...options }: IheBenchOptions & { json?: true }) => {
    const { load, documents, list, large } = await benchIhe(options, note);
    if (json === true) return printJson({ load, documents, list, large });

    const line = (
      name: string,
      costs: Record<'ihe' | 'fhir', readonly { cpuMs: number }[]>,
      ...more: string[]
    ) => {
      const [ihe, fhir] = [costs.ihe, costs.fhir].map((each) =>
        median(each.map(({ cpuMs }) => cpuMs)),
      ) as [number, number];
      const ratio = median(
        costs.ihe.map(({ cpuMs }, at) => cpuMs / (costs.fhir[at]?.cpuMs ?? 0)),
      );
      return [
        `${name}: ${ihe.toFixed(0)} ms of CPU over IHE, ${fhir.toFixed(0)} over FHIR, ratio ${ratio.toFixed(2)}`,
        ...more,
      ].join('; ');
    };
    const listMs = median(list.ihe.map(({ ms }) => ms)).toFixed(0);
    const grown = (['ihe', 'fhir'] as const).map((protocol) =>
      Math.max(...large[protocol].map((each) => each.grownMegabytes)).toFixed(
        0,
      ),
    );
    process.stdout.write(
      [
        `median of ${options.rounds} rounds, of the collecting process only; load of the machine ${load.map((each) => each.toFixed(1)).join(' to ')}`,
        line(`${options.documents} x ${options.kilobytes} kB`, documents),
        line(
          `a list of ${options.entries}`,
          list,
          `${listMs} ms from discovery to the list over IHE`,
        ),
        line(
          `one of ${options.megabytes} MB`,
          large,
          `memory grew by at most ${grown[0]} MB over IHE, ${grown[1]} over FHIR`,
        ),
        '',
      ].join('\n'),
    );
  });
