import {
  compareFamily,
  compareGiven,
  type NameLikeness,
} from './compare-names.ts';
import type { PersonName } from './person-names.ts';
import type { PersonPlace, PersonTraits } from './person-traits.ts';
import { isDefaultBirthday } from './stand-ins.ts';
import {
  editsApart,
  isDateClose,
  isDateMistyped,
  isOneEditApart,
  isSlipped,
} from './typing-errors.ts';

/** Which traits of two persons agree. */
export interface PersonComparison {
  /** The likeness of the pair of names that agree best. */
  firstName: NameLikeness;
  lastName: NameLikeness;
  /** First and last name are exchanged. */
  isNameExchanged: boolean;
  birthDate: 'same' | 'near' | 'close' | 'similar' | 'different' | 'unknown';
  /** A day under which many people are registered whose birthday is unknown. */
  isVagueBirth: boolean;
  /** `unknown` if either person's is. */
  gender: 'same' | 'different' | 'unknown';
  zip: boolean;
  /** Address line together with zip, or with city and state. */
  street: boolean;
  /**
   * The same house, if a typing error in the street, and one in the town or
   * zip, is assumed.
   */
  isStreetMistyped: boolean;
  phone: boolean;
  email: boolean;
  ssn: boolean;
  /**
   * The SSNs differ by exchanged neighbouring digits. (Those of twins follow
   * each other.)
   */
  isSsnMistyped: boolean;
  licence: boolean;
  /**
   * What both have and no value of which is in common, of what a person has one
   * of.
   */
  contradicts: ReadonlyArray<'ssn' | 'driversLicense' | 'suffix'>;
}

/** The order of the two never matters. */
export function comparePersons(
  ours: PersonTraits,
  theirs: PersonTraits,
): PersonComparison {
  const ssn = shareValue(ours.ssns, theirs.ssns);
  const street = shareValue(ours.streets, theirs.streets);
  const isSsnMistyped =
    !ssn &&
    [...ours.ssns].some((our) =>
      [...theirs.ssns].some((their) => isSlipped(our, their)),
    );
  const licence = shareValue(ours.licences, theirs.licences);
  const names = bestNames(ours.names, theirs.names);
  return {
    ...names,
    birthDate: compareDates(ours.birthDate, theirs.birthDate),
    isVagueBirth:
      isDefaultBirthday(ours.birthDate ?? '') ||
      isDefaultBirthday(theirs.birthDate ?? ''),
    gender: compareGenders(ours.gender, theirs.gender),
    zip: shareValue(ours.zips, theirs.zips),
    street,
    isStreetMistyped:
      !street &&
      ours.places.some((our) =>
        theirs.places.some((their) => isPlaceMistyped(our, their)),
      ),
    phone: shareValue(ours.phones, theirs.phones),
    email: shareValue(ours.emails, theirs.emails),
    ssn,
    isSsnMistyped,
    licence,
    contradicts: [
      ...contradictedIdentifiers(ours, theirs).filter(
        (kind) => kind !== 'ssn' || !isSsnMistyped,
      ),
      ...(isOtherGeneration(ours, theirs) ? (['suffix'] as const) : []),
    ],
  };
}

/**
 * The identifiers that speak for two people: both have one, and no value is in
 * common. Licences of different states do not, because people move.
 */
export function contradictedIdentifiers(
  ours: Pick<PersonTraits, 'ssns' | 'licences'>,
  theirs: Pick<PersonTraits, 'ssns' | 'licences'>,
): Array<'ssn' | 'driversLicense'> {
  const isOtherSsn =
    ours.ssns.size > 0 &&
    theirs.ssns.size > 0 &&
    !shareValue(ours.ssns, theirs.ssns);
  const states = [...theirs.licences.values()];
  const isOtherLicence =
    !shareValue(ours.licences, theirs.licences) &&
    [...ours.licences.values()].some((our) =>
      states.some((their) => our === '' || their === '' || our === their),
    );
  return [
    ...(isOtherSsn ? (['ssn'] as const) : []),
    ...(isOtherLicence ? (['driversLicense'] as const) : []),
  ];
}

/** Both are known as senior, junior or the like, and never as the same. */
function isOtherGeneration(ours: PersonTraits, theirs: PersonTraits): boolean {
  const known = ours.names.flatMap(({ generation }) => generation ?? []);
  const others = theirs.names.flatMap(({ generation }) => generation ?? []);
  return (
    known.length > 0 &&
    others.length > 0 &&
    !known.some((generation) => others.includes(generation))
  );
}

const RANK: Record<NameLikeness, number> = {
  same: 5,
  part: 4,
  alike: 3,
  similar: 2,
  unknown: 1,
  different: 0,
};

type NamesLikeness = Pick<
  PersonComparison,
  'firstName' | 'lastName' | 'isNameExchanged'
>;

/**
 * Compares each name with each, whole names only, and returns what the best
 * pair has in common.
 */
function bestNames(
  ours: readonly PersonName[],
  theirs: readonly PersonName[],
): NamesLikeness {
  let best: NamesLikeness = {
    firstName: 'different',
    lastName: 'different',
    isNameExchanged: false,
  };
  let bestRank = -1;
  for (const left of ours) {
    for (const right of theirs) {
      const likeness = compareNames(left, right);
      const rank =
        10 * Math.min(RANK[likeness.firstName], RANK[likeness.lastName]) +
        RANK[likeness.firstName] +
        RANK[likeness.lastName] +
        (likeness.isNameExchanged ? 0.5 : 0);
      if (rank > bestRank) {
        best = likeness;
        bestRank = rank;
      }
    }
  }
  return best;
}

function compareNames(left: PersonName, right: PersonName): NamesLikeness {
  const firstName = compareGiven(left, right);
  const lastName = compareFamily(left, right);
  return {
    firstName,
    lastName,
    isNameExchanged:
      firstName !== 'same' &&
      left.family.join('') === right.given.join('') &&
      right.family.join('') === left.given.join(''),
  };
}

/**
 * `near`: one error within one year. `close`: two parts of three are the same,
 * and the year is within two. `similar`: another error, such as a digit of the
 * year, by which a parent differs as well.
 */
function compareDates(ours = '', theirs = ''): PersonComparison['birthDate'] {
  if (ours === '' || theirs === '') return 'unknown';
  if (ours === theirs) return 'same';
  const isMistyped = isDateMistyped(ours, theirs);
  if (isMistyped && ours.slice(0, 4) === theirs.slice(0, 4)) return 'near';
  if (isDateClose(ours, theirs)) return 'close';
  return isMistyped ? 'similar' : 'different';
}

/**
 * The number of the house is the same; the street, and the town or the zip,
 * are, or are mistyped.
 */
function isPlaceMistyped(our: PersonPlace, their: PersonPlace): boolean {
  if (our.house !== their.house || !isMistypedText(our.street, their.street))
    return false;
  return (
    isMistypedText(our.zip, their.zip) || isMistypedText(our.town, their.town)
  );
}

const isMistypedText = (left: string, right: string): boolean =>
  left !== '' &&
  right !== '' &&
  (left === right ||
    isOneEditApart(left, right) ||
    isSlipped(left, right) ||
    (Math.min(left.length, right.length) > 5 && editsApart(left, right) <= 2));

const compareGenders = (
  left: PersonTraits['gender'],
  right: PersonTraits['gender'],
): PersonComparison['gender'] =>
  left === undefined || right === undefined
    ? 'unknown'
    : left === right
      ? 'same'
      : 'different';

export function shareValue(
  left: ReadonlySet<string> | ReadonlyMap<string, string>,
  right: ReadonlySet<string> | ReadonlyMap<string, string>,
): boolean {
  for (const value of left.keys()) if (right.has(value)) return true;
  return false;
}
