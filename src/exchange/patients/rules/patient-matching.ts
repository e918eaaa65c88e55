import type { Patient } from 'fhir/r4.js';
import { comparePersons } from './compare-persons.ts';
import type { Demographics } from './demographics.ts';
import { agreesInIdentity, gradeMatch } from './match-score.ts';
import { traitsOf, traitsOfPatient } from './person-traits.ts';

/**
 * Whether a Patient that a source returned is the requested person: whether the match is graded `certain`
 * (docs/matching.md). Sources match by their own rules, and some ignore search parameters and return all their patients, so
 * nothing is stored unless this returns true.
 */
export function describesPerson(ours: Demographics, theirs: Patient): boolean {
  return gradeMatch(compare(ours, theirs)).grade === 'certain';
}

/**
 * A weaker rule for a Patient that an accepted one names in `Patient.link`. The source itself states that they are the same
 * person, so a different address is accepted, but not a different name, date of birth or gender.
 */
export function agreesWithPerson(ours: Demographics, theirs: Patient): boolean {
  return agreesInIdentity(compare(ours, theirs));
}

const compare = (ours: Demographics, theirs: Patient) =>
  comparePersons(traitsOf(ours), traitsOfPatient(theirs));
