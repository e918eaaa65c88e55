/** A row that is valid on its own, reduced to what matching needs. */
export interface MatchableRow {
  /** Number of the row in the file. */
  row: number;
  /**
   * Identity keys of its person, in any form in which equal keys are equal
   * strings.
   */
  keys: readonly string[];
  /** The row names a cohort whose purpose is treatment. */
  wantsTreatment: boolean;
}

/** A person who existed before these rows. */
export interface KnownPerson {
  id: string;
  treatmentRelationship: boolean;
}

export interface FoldedPerson {
  id: string;
  isNew: boolean;
  treatmentRelationship: boolean;
  /** Indexes of the person's rows in the given list, ascending. */
  rows: number[];
  /** Keys of the person that no person held before these rows. */
  newKeys: string[];
}

export type RowOutcome =
  | {
      kind: 'created' | 'updated';
      person: FoldedPerson;
      alsoMatches: readonly FoldedPerson[];
      /** Who has the same keys and another SSN or licence. */
      contradicted: readonly FoldedPerson[];
    }
  | { kind: 'no-consent'; person: FoldedPerson }
  | { kind: 'no-room'; person: FoldedPerson; reason: string };

export interface FoldRules {
  newId(row: MatchableRow): string;
  /**
   * Whether the row at this index is of this person, who shares a key with it,
   * by what identifies both.
   */
  compare(person: FoldedPerson, place: number): 'one' | 'two' | 'unknown';
  /**
   * The keys of what identifies the row's person, by which others than the
   * holder of its keys are known.
   */
  ownKeys(place: number): readonly string[];
  /**
   * Why the row at this index does not fit a person with the rows it already
   * has; undefined when it fits.
   */
  whyFull?(person: FoldedPerson, place: number): string | undefined;
}

const NO_PERSONS: readonly FoldedPerson[] = [];
const NONE: readonly number[] = [];

/**
 * Computes what saving the rows one after the other (save-patient.ts) would do:
 * which persons are new, which keys each person holds in the end, and which
 * rows belong to one person. A row refused for lack of consent, or because a
 * list would exceed its limit, changes nothing.
 *
 * @param known persons that held keys of these rows before, oldest first; if a
 *   row's keys match several, the oldest wins, first of those who have an
 *   identifier of it
 */
export function foldRows(
  rows: readonly MatchableRow[],
  known: readonly { person: KnownPerson; keys: readonly string[] }[],
  { newId, compare, ownKeys, whyFull }: FoldRules,
): { outcomes: RowOutcome[]; persons: FoldedPerson[] } {
  const persons: FoldedPerson[] = [];
  /**
   * For each key, the index in `persons` of the person that holds it; a lower
   * index is an older person.
   */
  const holders = new Map<string, number>();
  for (const { person, keys } of known) {
    for (const key of keys)
      if (!holders.has(key)) holders.set(key, persons.length);
    const { id, treatmentRelationship } = person;
    persons.push({
      id,
      isNew: false,
      treatmentRelationship,
      rows: [],
      newKeys: [],
    });
  }
  const holdersOf = (keys: readonly string[]): readonly number[] => {
    let held = NONE;
    for (const key of keys) {
      const at = holders.get(key);
      if (at !== undefined && !held.includes(at)) held = [...held, at];
    }
    return held.length < 2
      ? held
      : held.toSorted((left, right) => left - right);
  };
  const outcomes = rows.map((row, place): RowOutcome => {
    const are = (what: string) => (index: number) =>
      compare(persons[index] as FoldedPerson, place) === what;
    const holding = holdersOf(row.keys);
    // A person who holds only keys of an identifier is among the known ones.
    const isFirst = holding.length === 0 && known.length === 0;
    const own = isFirst ? [] : ownKeys(place);
    const found = own.length === 0 ? holding : holdersOf([...row.keys, ...own]);
    const others = found.filter(are('two'));
    const matches = found.filter((index) => !others.includes(index));
    const isNew = matches.length === 0;
    const at = matches.find(are('one')) ?? matches[0] ?? persons.length;
    if (isNew)
      persons.push({
        id: newId(row),
        isNew,
        treatmentRelationship: true,
        rows: [],
        newKeys: [],
      });
    const person = persons[at] as FoldedPerson;
    if (row.wantsTreatment && !person.treatmentRelationship)
      return { kind: 'no-consent', person };
    const reason = whyFull?.(person, place);
    if (reason !== undefined) return { kind: 'no-room', person, reason };
    // A list that grows by `push` has room for 17.
    person.rows = person.rows.length === 0 ? [place] : [...person.rows, place];
    const keys = found.every((index) => index === at)
      ? row.keys
      : [...row.keys, ...own];
    const newKeys = keys.filter((key) => !holders.has(key));
    for (const key of newKeys) holders.set(key, at);
    person.newKeys =
      person.newKeys.length === 0 ? newKeys : [...person.newKeys, ...newKeys];
    const named = (indexes: readonly number[]) =>
      indexes.length === 0
        ? NO_PERSONS
        : indexes.flatMap((index) => persons[index] ?? []);
    const alsoMatches = named(matches.filter((index) => index !== at));
    const contradicted = named(others);
    return {
      kind: isNew ? 'created' : 'updated',
      person,
      alsoMatches,
      contradicted,
    };
  });
  return { outcomes, persons };
}
