import type { Patient } from 'fhir/r4.js';
import {
  comparePersons,
  gradeMatch,
  type PersonTraits,
  traitsOfPatient,
} from '#person-matching';
import type { LabelledPair } from './labelled-pair.ts';

export interface Counts {
  certain: number;
  /** Probable or possible. */
  review: number;
  none: number;
}
/** By what the set says of the pairs. */
export type Confusion = Partial<Record<LabelledPair['truth'], Counts>>;

/**
 * What the rules say of the pairs, by what the set says; of all, and by what
 * its authors varied.
 */
export function confusionOf(pairs: readonly LabelledPair[]): {
  total: Confusion;
  kinds: Readonly<Record<string, Confusion>>;
} {
  const total: Confusion = {};
  const kinds: Record<string, Confusion> = {};
  const traits = new Map<Patient, PersonTraits>();
  const read = (patient: Patient): PersonTraits => {
    const known = traits.get(patient) ?? traitsOfPatient(patient);
    traits.set(patient, known);
    return known;
  };
  for (const { left, right, truth, kind } of pairs) {
    const { grade } = gradeMatch(comparePersons(read(left), read(right)));
    const column =
      grade === 'certain'
        ? 'certain'
        : grade === 'certainly-not'
          ? 'none'
          : 'review';
    count(total, truth, column);
    if (kind !== '') {
      kinds[kind] ??= {};
      count(kinds[kind], truth, column);
    }
  }
  return { total, kinds };
}

function count(
  confusion: Confusion,
  truth: LabelledPair['truth'],
  column: keyof Counts,
): void {
  const counts = confusion[truth] ?? { certain: 0, review: 0, none: 0 };
  counts[column] += 1;
  confusion[truth] = counts;
}
