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
  /** Both are of age today: an SSN is hardly that of a parent. */
  areAdults: boolean;
  /** `unknown` if either person's is. */
  gender: 'same' | 'different' | 'unknown';
  zip: boolean;
  /**
   * Address line together with zip, or with city and state, and no other flat.
   */
  street: boolean;
  /** Two different ones: people who moved together, or one who moved. */
  areTwoStreets: boolean;
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
  const streets = sharedStreets(ours.streets, theirs.streets);
  const street = streets.size > 0;
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
    areAdults: ours.isAdult && theirs.isAdult,
    gender: compareGenders(ours.gender, theirs.gender),
    zip: shareValue(ours.zips, theirs.zips),
    street,
    areTwoStreets: streets.size > 1,
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
  ours: Pick<PersonTraits, 'ssns' | 'maskedSsns' | 'licences'>,
  theirs: Pick<PersonTraits, 'ssns' | 'maskedSsns' | 'licences'>,
): Array<'ssn' | 'driversLicense'> {
  const states = [...theirs.licences.values()];
  const isOtherLicence =
    !shareValue(ours.licences, theirs.licences) &&
    [...ours.licences.values()].some((our) =>
      states.some((their) => our === '' || their === '' || our === their),
    );
  return [
    ...(isOtherSsn(ours, theirs) ? (['ssn'] as const) : []),
    ...(isOtherLicence ? (['driversLicense'] as const) : []),
  ];
}

/** The address lines in common, without zip or town. */
function sharedStreets(
  ours: PersonTraits['streets'],
  theirs: PersonTraits['streets'],
): ReadonlySet<string> {
  const shared = [...ours].filter(([line, flat]) => {
    const other = theirs.get(line);
    return other !== undefined && isSameFlat(flat, other);
  });
  return new Set(shared.map(([line]) => line.slice(0, line.indexOf('|'))));
}

/** A masked one is compared by its last four digits. */
function isOtherSsn(
  ours: Pick<PersonTraits, 'ssns' | 'maskedSsns'>,
  theirs: Pick<PersonTraits, 'ssns' | 'maskedSsns'>,
): boolean {
  if (ours.ssns.size > 0 && theirs.ssns.size > 0)
    return !shareValue(ours.ssns, theirs.ssns);
  const left = endingsOf(ours);
  const right = endingsOf(theirs);
  return left.size > 0 && right.size > 0 && !shareValue(left, right);
}

const endingsOf = ({
  ssns,
  maskedSsns,
}: Pick<PersonTraits, 'ssns' | 'maskedSsns'>): ReadonlySet<string> =>
  new Set([...maskedSsns, ...[...ssns].map((ssn) => ssn.slice(-4))]);

const isSameFlat = (left: string, right: string): boolean =>
  left === '' || right === '' || left === right;

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
  same: 6,
  part: 5,
  respelled: 4,
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
 * pair has in common. That both are called the same says nothing: Alexander and
 * Alexandra are called Alex.
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
  const hasFormal = [ours, theirs].every((names) =>
    names.some(({ isNickname }) => !isNickname),
  );
  for (const left of ours) {
    for (const right of theirs) {
      if (hasFormal && left.isNickname && right.isNickname) continue;
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
  if (our.house !== their.house || !isSameFlat(our.flat, their.flat))
    return false;
  if (!isMistypedText(our.street, their.street)) return false;
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
