import type { NameLikeness } from './compare-names.ts';
import type { PersonComparison } from './compare-persons.ts';

/**
 * Increase with every change of what the rules below return; docs/matching.md
 * describes this version.
 */
export const MATCH_RULES_VERSION = 5;

/**
 * The "match output quality score" of HL7's Interoperable Digital Identity and
 * Patient Matching 2.0.0, Patient Matching.
 */
export const QUALITY_SCORES = {
  best: 0.99,
  superior: 0.8,
  'very-good': 0.7,
  good: 0.6,
} as const;
export type MatchQuality = keyof typeof QUALITY_SCORES;

/**
 * The score of two persons whose traits agree only if an error, a nickname or a
 * changed last name is assumed.
 */
export const POSSIBLE_SCORE = 0.5;

/** Codes of FHIR's extension `match-grade`. */
export type MatchGrade = 'certain' | 'probable' | 'possible' | 'certainly-not';

export interface PersonMatch {
  /**
   * Only a `certain` match is acted on. `probable` and `possible` ones are for
   * a person to decide.
   */
  grade: MatchGrade;
  score: number;
  quality?: MatchQuality;
}

/**
 * How sure it is that two descriptions are of one person. Nothing is `certain`
 * that contradicts: another SSN, licence or generation, another gender, a
 * further given name that differs.
 *
 * - `certain`: name and date of birth are the same, and so is a zip, street,
 *   phone, e-mail, SSN or driver's licence; or one of last name and date of
 *   birth is mistyped, and the household makes up for it; or an SSN
 *   or a licence makes up for two errors or a new last name, but never for
 *   another first name.
 * - `probable`: name and date of birth are the same, but nothing of these is,
 *   or something contradicts.
 * - `possible`: one person, if errors, a nickname, another custom of names or a
 *   changed last name is assumed.
 */
export function gradeMatch(compared: PersonComparison): PersonMatch {
  const quality = qualityOf(compared);
  const isCertain = isCertainMatch(compared);
  if (quality !== undefined)
    return {
      grade: isCertain ? 'certain' : 'probable',
      score: QUALITY_SCORES[quality],
      quality,
    };
  if (isCertain)
    return { grade: 'certain', score: QUALITY_SCORES['very-good'] };
  return isPossible(compared)
    ? { grade: 'possible', score: POSSIBLE_SCORE }
    : { grade: 'certainly-not', score: 0 };
}

/** Whether name and date of birth are the same, and nothing contradicts. */
export function agreesInIdentity(compared: PersonComparison): boolean {
  return (
    isSameName(compared) &&
    compared.birthDate === 'same' &&
    !isContradicted(compared)
  );
}

export const isContradicted = ({
  gender,
  contradicts,
}: PersonComparison): boolean =>
  gender === 'different' || contradicts.length > 0;

/**
 * What a household shares, and what one person has alone. A zip is shared by a
 * town.
 */
const evidenceOf = (compared: PersonComparison) => {
  const {
    zip,
    street,
    areTwoStreets,
    isStreetMistyped,
    phone,
    email,
    ssn,
    isSsnMistyped,
    licence,
  } = compared;
  const household =
    Number(street || (zip && isStreetMistyped)) +
    Number(areTwoStreets) +
    Number(phone) +
    Number(email);
  return {
    household,
    hasIdentifier: ssn || licence || (isSsnMistyped && (zip || household > 0)),
  };
};

function isCertainMatch(compared: PersonComparison): boolean {
  const { household, hasIdentifier } = evidenceOf(compared);
  if (isContradicted(compared)) return false;
  if (hasIdentifier && isOneByIdentifier(compared)) return true;
  const { birthDate, isVagueBirth } = compared;
  if (isSameName(compared) && birthDate === 'same') {
    const { zip, isStreetMistyped } = compared;
    return household > 0 || isStreetMistyped || (zip && !isVagueBirth);
  }
  if (isVagueBirth) return false;
  if (isSameName(compared)) return birthDate === 'near' && household > 1;
  return birthDate === 'same' && household >= householdFor(compared);
}

/** How many things of a household make up for an error in the names. */
function householdFor(compared: PersonComparison): number {
  const { firstName, lastName } = compared;
  if (lastName === 'same' && isRespelled(compared)) return 1;
  if (firstName !== 'same') return Number.POSITIVE_INFINITY;
  if (lastName === 'alike') return 1;
  return lastName === 'respelled' ? 2 : Number.POSITIVE_INFINITY;
}

/** Of two with such names and one gender one has hardly a twin. */
const isRespelled = ({ firstName, gender }: PersonComparison): boolean =>
  firstName === 'respelled' && gender === 'same';

/**
 * Whether two people who share an identifier are one. SSNs of twins, of a parent
 * and a child, and of a father and his son have been confused, so another first
 * name counts only for adults; and one that was made up fits many people who
 * are registered under one birthday.
 */
function isOneByIdentifier(compared: PersonComparison): boolean {
  const { firstName, lastName, birthDate, isVagueBirth, areAdults } = compared;
  const isFamily = ['same', 'alike', 'respelled'].includes(lastName);
  if (birthDate === 'same') {
    if (firstName === 'same')
      return isFamily || (lastName !== 'unknown' && !isVagueBirth);
    const isOther = firstName === 'part' || firstName === 'alike';
    return isFamily && areAdults && (isOther || isRespelled(compared));
  }
  const isBirth = birthDate === 'near' || birthDate === 'close';
  return isBirth && isFamily && firstName === 'same';
}

/**
 * The highest level of the guide that holds. An unknown gender counts as
 * agreeing.
 */
function qualityOf(compared: PersonComparison): MatchQuality | undefined {
  const { birthDate, gender, zip, street, phone, email, ssn, licence } =
    compared;
  if (!isSameName(compared) || birthDate !== 'same') return undefined;
  if (ssn || licence) return 'best';
  if (street || email) return 'superior';
  if (phone || (zip && gender !== 'different')) return 'very-good';
  return 'good';
}

function isPossible(compared: PersonComparison): boolean {
  const {
    firstName,
    lastName,
    birthDate,
    gender,
    zip,
    isStreetMistyped,
    isNameExchanged,
  } = compared;
  const { household, hasIdentifier } = evidenceOf(compared);
  const hasAnchor = hasIdentifier || household > 0 || isStreetMistyped;
  const isNamed = isNameExchanged || (isLike(firstName) && isLike(lastName));
  if (birthDate === 'different') return isNamed && hasIdentifier;
  if (isNamed) {
    if (hasAnchor) return true;
    if (birthDate === 'same' && zip) return true;
    if (gender === 'different' || firstName === 'similar')
      return zip && birthDate !== 'close' && gender !== 'different';
    return zip || (birthDate === 'same' && lastName !== 'similar');
  }
  if (birthDate !== 'same') return false;
  // A newborn without a name, and the child who has one; the mother is known by
  // last name, home or phone.
  if (firstName === 'unknown')
    return isLike(lastName) ? hasAnchor || zip : household > 0;
  if (lastName === 'unknown') return isLike(firstName) && hasAnchor;
  // A last name that changed, by marriage for example. Twins share everything
  // but first name and identifiers.
  if (isLike(firstName)) return (hasAnchor || zip) && gender !== 'different';
  return isLike(lastName) && hasIdentifier;
}

const isSameName = ({ firstName, lastName }: PersonComparison): boolean =>
  firstName === 'same' && lastName === 'same';

const isLike = (likeness: NameLikeness): boolean =>
  likeness !== 'different' && likeness !== 'unknown';

/** The members of a patient (docs/interface.md) that are the same. */
export function agreeingTraits(compared: PersonComparison): string[] {
  const {
    firstName,
    lastName,
    birthDate,
    gender,
    zip,
    street,
    phone,
    email,
    ssn,
    licence,
  } = compared;
  const same = {
    firstName: firstName === 'same',
    lastName: lastName === 'same',
    dob: birthDate === 'same',
    genderAtBirth: gender === 'same',
    zip,
    address: street,
    phone,
    email,
    ssn,
    driversLicense: licence,
  };
  return Object.entries(same).flatMap(([name, is]) => (is ? [name] : []));
}

/**
 * What speaks for two people, by the names of the members of a patient;
 * `suffix`: one is senior, the other junior.
 */
export const contradictingTraits = ({
  gender,
  contradicts,
}: PersonComparison): ContradictingTrait[] => [
  ...(gender === 'different' ? (['genderAtBirth'] as const) : []),
  ...contradicts,
];

export type ContradictingTrait =
  | 'genderAtBirth'
  | PersonComparison['contradicts'][number];
