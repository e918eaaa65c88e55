import type { Patient } from 'fhir/r4.js';

/** A pair of descriptions that somebody has judged. */
export interface LabelledPair {
  left: Patient;
  right: Patient;
  /** `unsure`: the set's authors say that it may be one person. */
  truth: 'one' | 'unsure' | 'two';
  /** What the set's authors varied, where they say so. */
  kind: string;
}
