import {
  comparePersons,
  gradeMatch,
  type PersonTraits,
  traitsOfPerson,
} from '#person-matching';
import { identityKeys } from '../../src/exchange/people/patients/rules/identity-keys.ts';
import { DATA_SETS, type FebrlRecord, readFebrl } from './febrl.ts';

/** What a rule found: pairs of records that it regards as one person. */
export interface RuleResult {
  rule: 'create' | 'certain' | 'probable' | 'possible';
  truePairs: number;
  falsePairs: number;
}

export interface MatchingResult {
  dataSet: string;
  records: number;
  /** Pairs of records of one person. */
  pairs: number;
  /** Pairs of which both records have what creating a patient requires. */
  completePairs: number;
  rules: RuleResult[];
}

/**
 * Applies the matching rules to every pair of records of each data set, whose
 * truth is known.
 */
export async function benchMatching(): Promise<MatchingResult[]> {
  const results: MatchingResult[] = [];
  for (const dataSet of Object.keys(DATA_SETS) as Array<keyof typeof DATA_SETS>)
    results.push(measure(dataSet, await readFebrl(dataSet)));
  return results;
}

interface Indexed extends FebrlRecord {
  traits: PersonTraits;
}

function measure(
  dataSet: string,
  febrl: readonly FebrlRecord[],
): MatchingResult {
  const records = febrl.map(
    (record): Indexed => ({
      ...record,
      traits: traitsOfPerson(record.demographics),
    }),
  );
  const truth = [...pairsWithin(records, ({ person }) => [person])];
  const rules: RuleResult[] = (
    ['create', 'certain', 'probable', 'possible'] as const
  ).map((rule) => ({
    rule,
    truePairs: 0,
    falsePairs: 0,
  }));
  const count = (
    rule: RuleResult['rule'],
    [left, right]: readonly [Indexed, Indexed],
  ) => {
    const result = rules.find((each) => each.rule === rule);
    if (result === undefined) return;
    if (left.person === right.person) result.truePairs += 1;
    else result.falsePairs += 1;
  };
  const complete = records.filter(({ isComplete }) => isComplete);
  for (const pair of pairsWithin(complete, identityKeysOf))
    count('create', pair);
  for (const pair of pairsWithin(records, candidateKeys)) {
    const { grade } = gradeMatch(
      comparePersons(pair[0].traits, pair[1].traits),
    );
    if (grade !== 'certainly-not') count(grade, pair);
  }
  const completePairs = truth.filter(
    ([left, right]) => left.isComplete && right.isComplete,
  ).length;
  return {
    dataSet,
    records: records.length,
    pairs: truth.length,
    completePairs,
    rules,
  };
}

const identityKeysOf = ({ demographics }: Indexed): string[] =>
  identityKeys('bench', 'bench', demographics).map((key) =>
    key.toString('hex'),
  );

/**
 * Every grade but "certainly-not" requires one of these in common, so no pair
 * is missed.
 */
const candidateKeys = ({ traits: { birthDate, names } }: Indexed): string[] => [
  ...(birthDate ? [birthDate] : []),
  ...names.flatMap(({ given, family }) => [
    `${given[0]} ${family.join('')}`,
    ...family.map((unit) => `${given[0]} ${unit}`),
  ]),
];

/** Every pair of records that share a key, once. */
function* pairsWithin(
  records: readonly Indexed[],
  keysOf: (record: Indexed) => readonly string[],
): Generator<readonly [Indexed, Indexed]> {
  const byKey = new Map<string, number[]>();
  for (const [index, record] of records.entries())
    for (const key of new Set(keysOf(record)))
      byKey.set(key, [...(byKey.get(key) ?? []), index]);
  const seen = new Set<number>();
  for (const indexes of byKey.values()) {
    for (const [place, left] of indexes.entries()) {
      for (const right of indexes.slice(place + 1)) {
        const pair = left * records.length + right;
        const first = records[left];
        const second = records[right];
        if (seen.has(pair) || first === undefined || second === undefined)
          continue;
        seen.add(pair);
        yield [first, second];
      }
    }
  }
}
