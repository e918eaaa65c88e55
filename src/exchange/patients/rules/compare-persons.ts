import type { PersonTraits } from './person-traits.ts';
import { isDateMistyped, isOneEditApart } from './typing-errors.ts';

/** Which traits of two persons agree. `similar`: equal but for one typing error. */
export interface Comparison {
  firstName: Likeness;
  lastName: Likeness;
  /** First and last name are exchanged. */
  isNameExchanged: boolean;
  birthDate: Likeness;
  /** `unknown` if either person's is. */
  gender: 'same' | 'different' | 'unknown';
  zip: boolean;
  /** Address line together with zip, or with city and state. */
  street: boolean;
  phone: boolean;
  email: boolean;
  ssn: boolean;
  licence: boolean;
}

type Likeness = 'same' | 'similar' | 'different';

export function comparePersons(ours: PersonTraits, theirs: PersonTraits): Comparison {
  const joined = (names: PersonTraits['lastNames']) => names.map((name) => name.join(''));
  return {
    firstName: likeness(
      ours.firstNames.some((name) => theirs.firstNames.includes(name)),
      isAnySimilar(ours.firstNames, theirs.firstNames),
    ),
    lastName: likeness(
      ours.lastNames.some((ourName) => theirs.lastNames.some((name) => isSameLastName(ourName, name))),
      isAnySimilar(joined(ours.lastNames), joined(theirs.lastNames)),
    ),
    isNameExchanged:
      joined(ours.lastNames).some((name) => theirs.firstNames.includes(name)) &&
      joined(theirs.lastNames).some((name) => ours.firstNames.includes(name)),
    birthDate: likeness(
      ours.birthDate !== undefined && ours.birthDate === theirs.birthDate,
      isDateMistyped(ours.birthDate ?? '', theirs.birthDate ?? ''),
    ),
    gender: compareGenders(ours.gender, theirs.gender),
    zip: share(ours.zips, theirs.zips),
    street: share(ours.streets, theirs.streets),
    phone: share(ours.phones, theirs.phones),
    email: share(ours.emails, theirs.emails),
    ssn: share(ours.ssns, theirs.ssns),
    licence: share(ours.licences, theirs.licences),
  };
}

/** Last names are the same if equal, or if one contains all words of the other ("Garcia" and "Garcia-Lopez"). */
function isSameLastName(left: readonly string[], right: readonly string[]): boolean {
  return left.join('') === right.join('') || isPart(left, right) || isPart(right, left);
}

const isPart = (part: readonly string[], whole: readonly string[]): boolean =>
  part.every((word) => whole.includes(word));

/** Short names differ by one letter all too often ("Jon", "Jan"), so they have no similar ones. */
const SIMILAR_FROM_LETTERS = 4;

const isAnySimilar = (left: readonly string[], right: readonly string[]): boolean =>
  left.some((ours) =>
    right.some(
      (theirs) =>
        Math.max(ours.length, theirs.length) >= SIMILAR_FROM_LETTERS && isOneEditApart(ours, theirs),
    ),
  );

const likeness = (isSame: boolean, isSimilar: boolean): Likeness =>
  isSame ? 'same' : isSimilar ? 'similar' : 'different';

const compareGenders = (left: PersonTraits['gender'], right: PersonTraits['gender']): Comparison['gender'] =>
  left === undefined || right === undefined ? 'unknown' : left === right ? 'same' : 'different';

function share(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  for (const value of left) if (right.has(value)) return true;
  return false;
}
