import type { Comparison } from './compare-persons.ts';

/** Increase with every change of what the rules below return; docs/matching.md describes this version. */
export const MATCH_RULES_VERSION = 1;

/** The "match output quality score" of HL7's Interoperable Digital Identity and Patient Matching 2.0.0, Patient Matching. */
export const QUALITY_SCORES = { best: 0.99, superior: 0.8, 'very-good': 0.7, good: 0.6 } as const;
export type MatchQuality = keyof typeof QUALITY_SCORES;

/** The score of two persons whose traits agree only if a typing error or a changed last name is assumed. */
export const POSSIBLE_SCORE = 0.5;

/** Codes of FHIR's extension `match-grade`. */
export type MatchGrade = 'certain' | 'probable' | 'possible' | 'certainly-not';

export interface PersonMatch {
  /** Only a `certain` match is acted on. `probable` and `possible` ones are for a person to decide. */
  grade: MatchGrade;
  score: number;
  quality?: MatchQuality;
}

/**
 * How sure it is that two descriptions are of one person.
 *
 * - `certain`: name, date of birth and one of zip, phone, SSN or driver's licence are the same, and the genders do not
 *   contradict each other.
 * - `probable`: name and date of birth are the same, but nothing of these is, or the genders contradict each other.
 * - `possible`: one person, if a typing error or a changed last name is assumed, and something else speaks for it.
 */
export function gradeMatch(compared: Comparison): PersonMatch {
  const quality = qualityOf(compared);
  if (quality !== undefined) {
    return { grade: isCertain(compared) ? 'certain' : 'probable', score: QUALITY_SCORES[quality], quality };
  }
  return isPossible(compared)
    ? { grade: 'possible', score: POSSIBLE_SCORE }
    : { grade: 'certainly-not', score: 0 };
}

/** Whether name and date of birth are the same, and the genders do not contradict each other. */
export function agreesInIdentity(compared: Comparison): boolean {
  return isSameName(compared) && compared.birthDate === 'same' && compared.gender !== 'different';
}

function isCertain(compared: Comparison): boolean {
  const { zip, phone, ssn, licence } = compared;
  return agreesInIdentity(compared) && (zip || phone || ssn || licence);
}

/** The highest level of the guide that holds. An unknown gender counts as agreeing. */
function qualityOf(compared: Comparison): MatchQuality | undefined {
  const { birthDate, gender, zip, street, phone, email, ssn, licence } = compared;
  if (!isSameName(compared) || birthDate !== 'same') return undefined;
  if (ssn || licence) return 'best';
  if (street || email) return 'superior';
  if (phone || (zip && gender !== 'different')) return 'very-good';
  return 'good';
}

function isPossible(compared: Comparison): boolean {
  const { firstName, lastName, birthDate, gender, zip, street, phone, email, ssn, licence } = compared;
  const hasIdentifier = ssn || licence;
  const hasAnchor = hasIdentifier || street || phone || email;
  const hasSameBirth = birthDate === 'same';
  if (isSameName(compared)) return hasIdentifier || (birthDate === 'similar' && (hasAnchor || zip));
  if (!hasSameBirth) return false;
  if (isSimilarName(compared)) return hasAnchor || zip;
  // A last name that changed, by marriage for example. Twins share everything but first name and identifiers.
  if (firstName === 'same') return hasAnchor && gender !== 'different';
  return lastName === 'same' && hasIdentifier;
}

const isSameName = ({ firstName, lastName }: Comparison): boolean =>
  firstName === 'same' && lastName === 'same';

const isSimilarName = ({ firstName, lastName, isNameExchanged }: Comparison): boolean =>
  isNameExchanged || (firstName !== 'different' && lastName !== 'different');

/** The members of a patient (docs/interface.md) that are the same. */
export function agreeingTraits(compared: Comparison): string[] {
  const { firstName, lastName, birthDate, gender, zip, street, phone, email, ssn, licence } = compared;
  const same = {
    firstName: firstName === 'same',
    lastName: lastName === 'same',
    dob: birthDate === 'same',
    genderAtBirth: gender === 'same',
    ...{ zip, address: street, phone, email, ssn, driversLicense: licence },
  };
  return Object.entries(same).flatMap(([name, is]) => (is ? [name] : []));
}
