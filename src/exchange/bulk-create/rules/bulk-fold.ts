/** A row that is valid by itself, as the matching rule sees it. */
export interface MatchableRow {
  /** Number of the row in the file. */
  row: number;
  /** Identity keys of its person; any text that is equal when the keys are. */
  keys: readonly string[];
  /** It asks for a cohort whose purpose is treatment. */
  wantsTreatment: boolean;
}

/** A person who was known before these rows. */
export interface KnownPerson {
  id: string;
  treatmentRelationship: boolean;
}

export interface FoldedPerson {
  id: string;
  isNew: boolean;
  treatmentRelationship: boolean;
  /** Places of its rows in the list that was folded, in their order. */
  rows: number[];
  /** Keys that nobody held. */
  newKeys: string[];
}

export type RowOutcome =
  | { kind: 'created' | 'updated'; person: FoldedPerson; alsoMatches: readonly FoldedPerson[] }
  | { kind: 'no-consent'; person: FoldedPerson }
  | { kind: 'no-room'; person: FoldedPerson; reason: string };

export interface FoldRules {
  newId(row: MatchableRow): string;
  /** Why a person, who has these rows already, cannot take the row at this place too. */
  whyFull?(person: FoldedPerson, place: number): string | undefined;
}

const NOBODY: readonly FoldedPerson[] = [];

/**
 * What creating or matching the rows one after the other would do (save-patient.ts), without doing it: who is new, who
 * holds which key in the end, which rows make one person. A row that consent bars, or for which there is no room, changes
 * nothing.
 *
 * `known`: who holds keys of these rows before them, the oldest first. Where keys point to several, the oldest wins.
 */
export function foldRows(
  rows: readonly MatchableRow[],
  known: readonly { person: KnownPerson; keys: readonly string[] }[],
  { newId, whyFull }: FoldRules,
): { outcomes: RowOutcome[]; persons: FoldedPerson[] } {
  const persons: FoldedPerson[] = [];
  /** Place in `persons` of who holds a key; lower is older. */
  const holders = new Map<string, number>();
  for (const { person, keys } of known) {
    for (const key of keys) if (!holders.has(key)) holders.set(key, persons.length);
    const { id, treatmentRelationship } = person;
    persons.push({ id, isNew: false, treatmentRelationship, rows: [], newKeys: [] });
  }
  const outcomes = rows.map((row, place): RowOutcome => {
    const found: number[] = [];
    for (const key of row.keys) {
      const holder = holders.get(key);
      if (holder !== undefined && !found.includes(holder)) found.push(holder);
    }
    found.sort((left, right) => left - right);
    const isNew = found.length === 0;
    const at = found[0] ?? persons.length;
    if (isNew) persons.push({ id: newId(row), isNew, treatmentRelationship: true, rows: [], newKeys: [] });
    const person = persons[at] as FoldedPerson;
    if (row.wantsTreatment && !person.treatmentRelationship) return { kind: 'no-consent', person };
    const reason = whyFull?.(person, place);
    if (reason !== undefined) return { kind: 'no-room', person, reason };
    person.rows.push(place);
    for (const key of row.keys) {
      if (holders.has(key)) continue;
      holders.set(key, at);
      person.newKeys.push(key);
    }
    const alsoMatches = found.length > 1 ? found.slice(1).flatMap((other) => persons[other] ?? []) : NOBODY;
    return { kind: isNew ? 'created' : 'updated', person, alsoMatches };
  });
  return { outcomes, persons };
}
