import { Command } from 'commander';
import { MATCH_RULES_VERSION } from '../../src/exchange/patients/rules/match-score.ts';
import { printJson } from '../command-parts.ts';
import { benchMatching } from './run.ts';

/** What the exchange acts on without a person: creating patients, and accepting those of sources. */
const AUTOMATIC: ReadonlySet<string> = new Set(['create', 'certain']);

export const matchingCommand = new Command('matching')
  .description("precision and recall of the matching rules on FEBRL's data sets; fetches them with pip")
  .option('--json', 'print the result as one JSON line')
  .action(async ({ json }: { json?: true }) => {
    const results = await benchMatching();
    const merged = results.flatMap(({ rules }) => rules).filter(({ rule }) => AUTOMATIC.has(rule));
    const falseMerges = merged.reduce((sum, { falsePairs }) => sum + falsePairs, 0);
    if (falseMerges > 0) process.exitCode = 1;
    if (json === true) return printJson({ rulesVersion: MATCH_RULES_VERSION, results, falseMerges });
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
