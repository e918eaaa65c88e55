import type { Patient } from 'fhir/r4.js';
import {
  comparePersons,
  contradictedIdentifiers,
  share,
} from './compare-persons.ts';
import type { Demographics } from './demographics.ts';
import {
  agreesInIdentity,
  type ContradictingTrait,
  contradictingTraits,
  gradeMatch,
} from './match-score.ts';
import { identifiersOf, traitsOf, traitsOfPatient } from './person-traits.ts';

/**
 * Whether a Patient that a source returned is the requested person: whether the
 * match is graded `certain` (docs/matching.md). Sources match by their own
 * rules, and some ignore search parameters and return all their patients, so
 * nothing is stored unless this returns true.
 */
export function describesPerson(ours: Demographics, theirs: Patient): boolean {
  return gradeMatch(compare(ours, theirs)).grade === 'certain';
}

/**
 * A weaker rule for a Patient that comes with a statement about who it is: a
 * link of an accepted Patient, a document of the patient, a login. Names, date
 * of birth and gender agree, and nothing contradicts. If it has a zip, a phone
 * or an e-mail address, one of these is in common; a description that has none
 * needs nothing else, unless many people share its date of birth.
 * (docs/matching.md)
 */
export function agreesWithPerson(ours: Demographics, theirs: Patient): boolean {
  const compared = compare(ours, theirs);
  if (gradeMatch(compared).grade === 'certain') return true;
  const { address = [], telecom = [] } = theirs;
  const isPlaced =
    address.some(({ postalCode }) => postalCode) ||
    telecom.some(({ value }) => value);
  return agreesInIdentity(compared) && !isPlaced && !compared.isVagueBirth;
}

type Identified = Pick<Demographics, 'personalIdentifiers'>;

/**
 * What the SSNs and driver's licences say of two descriptions that match by
 * identity keys: one person, two people, or nothing.
 */
export function compareIdentifiers(
  ours: Identified,
  theirs: Identified,
): 'one' | 'two' | 'unknown' {
  if (
    ours.personalIdentifiers.length === 0 ||
    theirs.personalIdentifiers.length === 0
  )
    return 'unknown';
  const left = identifiersOf(ours.personalIdentifiers);
  const right = identifiersOf(theirs.personalIdentifiers);
  if (contradictedIdentifiers(left, right).length > 0) return 'two';
  return share(left.ssns, right.ssns) || share(left.licences, right.licences)
    ? 'one'
    : 'unknown';
}

/**
 * Stricter than `describesPerson`: no error is assumed, not in the last name
 * and not in the date of birth.
 */
export function describesExactly(ours: Demographics, theirs: Patient): boolean {
  const compared = compare(ours, theirs);
  return agreesInIdentity(compared) && gradeMatch(compared).grade === 'certain';
}

/**
 * Whether names, date of birth and gender agree and nothing contradicts,
 * whatever the address: people move.
 */
export function agreesElsewhere(ours: Demographics, theirs: Patient): boolean {
  return agreesInIdentity(compare(ours, theirs));
}

/**
 * Whether a description is another person's: names, date of birth or gender are
 * others, or something contradicts. A name that only stands in for one (a
 * newborn's) is no other name.
 */
export function describesAnother(ours: Demographics, theirs: Patient): boolean {
  const compared = compare(ours, theirs);
  const named = {
    ...compared,
    firstName: compared.firstName === 'unknown' ? 'same' : compared.firstName,
    lastName: compared.lastName === 'unknown' ? 'same' : compared.lastName,
  } as const;
  return !agreesInIdentity(named);
}

/**
 * What a description of a patient states otherwise than we know it: another
 * first name, and whatever contradicts. A last name may be new; what is not
 * stated is not otherwise. By the names of the members of a patient.
 */
export function statedOtherwise(
  ours: Demographics,
  theirs: Patient,
): Array<'firstName' | ContradictingTrait> {
  const compared = compare(ours, theirs);
  const isNamed = traitsOfPatient(theirs).names.length > 0;
  const isOtherName =
    compared.firstName === 'different' || compared.firstName === 'similar';
  return [
    ...(isNamed && isOtherName ? (['firstName'] as const) : []),
    ...contradictingTraits(compared),
  ];
}

/**
 * How much of what two descriptions say agrees, by the scores of
 * docs/matching.md.
 */
export const agreementWith = (ours: Demographics, theirs: Patient): number =>
  gradeMatch(compare(ours, theirs)).score;

const compare = (ours: Demographics, theirs: Patient) =>
  comparePersons(traitsOf(ours), traitsOfPatient(theirs));
