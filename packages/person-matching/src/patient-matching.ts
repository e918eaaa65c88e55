import type { NameLikeness } from './compare-names.ts';
import {
  comparePersons,
  contradictedIdentifiers,
  shareValue,
} from './compare-persons.ts';
import type { FhirPatient, PersonDemographics } from './descriptions.ts';
import {
  agreesInIdentity,
  type ContradictingTrait,
  contradictingTraits,
  gradeMatch,
} from './match-score.ts';
import {
  identifiersOf,
  traitsOfPatient,
  traitsOfPerson,
  withoutShared,
} from './person-traits.ts';

/**
 * Whether a Patient that a source returned is the requested person: whether the
 * match is graded `certain` (docs/matching.md). Sources match by their own
 * rules, and some ignore search parameters and return all their patients, so
 * nothing is stored unless this returns true.
 *
 * @param shared what many people have who are no household, by the texts of
 *   `householdOf`; so in the functions below
 */
export function describesPerson(
  ours: PersonDemographics,
  theirs: FhirPatient,
  shared = NOTHING,
): boolean {
  return gradeMatch(compare(ours, theirs, shared)).grade === 'certain';
}

/**
 * A weaker rule for a Patient that comes with a statement about who it is: a
 * link of an accepted Patient, a document of the patient, a login. Names, date
 * of birth and gender agree, and nothing contradicts. If it has a zip, a phone
 * or an e-mail address, one of these is in common; a description that has none
 * needs nothing else, unless many people share its date of birth.
 * (docs/matching.md)
 */
export function agreesWithPerson(
  ours: PersonDemographics,
  theirs: FhirPatient,
  shared = NOTHING,
): boolean {
  const compared = compare(ours, theirs, shared);
  if (gradeMatch(compared).grade === 'certain') return true;
  const { address = [], telecom = [] } = theirs;
  const isPlaced =
    address.some(({ postalCode }) => postalCode) ||
    telecom.some(({ value }) => value);
  return agreesInIdentity(compared) && !isPlaced && !compared.isVagueBirth;
}

type Identified = Pick<PersonDemographics, 'personalIdentifiers'>;

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
  return shareValue(left.ssns, right.ssns) ||
    shareValue(left.licences, right.licences)
    ? 'one'
    : 'unknown';
}

/**
 * Stricter than `describesPerson`: no error is assumed, not in the last name
 * and not in the date of birth.
 */
export function describesExactly(
  ours: PersonDemographics,
  theirs: FhirPatient,
  shared = NOTHING,
): boolean {
  const compared = compare(ours, theirs, shared);
  return agreesInIdentity(compared) && gradeMatch(compared).grade === 'certain';
}

/**
 * Whether names, date of birth and gender agree and nothing contradicts,
 * whatever the address: people move.
 */
export function agreesElsewhere(
  ours: PersonDemographics,
  theirs: FhirPatient,
): boolean {
  return agreesInIdentity(compare(ours, theirs));
}

/**
 * Whether a description is another person's: names, date of birth or gender are
 * others, or something contradicts. What it does not say is not another, and
 * neither is a name or date that only stands in for one and is the same.
 */
export function describesAnother(
  ours: PersonDemographics,
  theirs: FhirPatient,
): boolean {
  const compared = compare(ours, theirs);
  const isNamed = traitsOfPatient(theirs).names.length > 0;
  const orSame = (likeness: NameLikeness) =>
    !isNamed || likeness === 'unknown' ? 'same' : likeness;
  return !agreesInIdentity({
    ...compared,
    firstName: orSame(compared.firstName),
    lastName: orSame(compared.lastName),
    birthDate: ours.dob.startsWith(theirs.birthDate ?? '')
      ? 'same'
      : compared.birthDate,
  });
}

/**
 * What a description of a patient states otherwise than we know it: another
 * first name (also a nickname, or a part of the name that sisters share), and
 * whatever contradicts. A last name may be new; what is not
 * stated is not otherwise. By the names of the members of a patient.
 */
export function statedOtherwise(
  ours: PersonDemographics,
  theirs: FhirPatient,
): Array<'firstName' | ContradictingTrait> {
  const compared = compare(ours, theirs);
  const isNamed = traitsOfPatient(theirs).names.length > 0;
  const isOtherName =
    compared.firstName !== 'same' && compared.firstName !== 'unknown';
  return [
    ...(isNamed && isOtherName ? (['firstName'] as const) : []),
    ...contradictingTraits(compared),
  ];
}

/**
 * How much of what two descriptions say agrees, by the scores of
 * docs/matching.md.
 */
export const agreementWith = (
  ours: PersonDemographics,
  theirs: FhirPatient,
): number => gradeMatch(compare(ours, theirs)).score;

/** Nothing is known to be shared by many. */
const NOTHING: ReadonlySet<string> = new Set();

const compare = (
  ours: PersonDemographics,
  theirs: FhirPatient,
  shared = NOTHING,
) =>
  comparePersons(
    withoutShared(traitsOfPerson(ours), shared),
    withoutShared(traitsOfPatient(theirs), shared),
  );
