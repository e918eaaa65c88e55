import { EXCHANGED_NAMES } from './exchanged-names.ts';
import { GIVEN_AS_NAMES } from './given-nicknames.ts';
import { areNicknames } from './name-words.ts';
import type { PersonName } from './person-names.ts';
import { isSharedBeginning } from './shared-beginnings.ts';
import { editsApart, isOneEditApart, isSlipped } from './typing-errors.ts';

/**
 * - `same`: equal, apart from what one of the two leaves out.
 * - `part`: one is only the beginning of a name of several words, as it is
 *   common ("Maria" of "Maria Isabel"): sisters share it.
 * - `respelled`: of first names, the first word is the same, and a further one
 *   has one typing error ("Macarius Anwar" and "Macarius Anar"). Of last names,
 *   only vowels are others, as in two names of one origin (Hansen and Hanson,
 *   Smith and Smyth, Brown and Browne).
 * - `alike`: one name, of which no two people of one family have both forms: a
 *   last name with one typing error that is not another spelling of it; a first
 *   name with letters exchanged, its initial, or a nickname that is not given
 *   as a name and not spelled like it ("Robert" and "Bob").
 * - `similar`: one name, if an error or another custom is assumed.
 * - `different`; `unknown`: one of the two only stands in for a name.
 */
export type NameLikeness =
  | 'same'
  | 'part'
  | 'respelled'
  | 'alike'
  | 'similar'
  | 'different'
  | 'unknown';

/**
 * Compares given names: the first word decides, further ones must not
 * contradict.
 */
export function compareGiven(
  left: PersonName,
  right: PersonName,
): NameLikeness {
  if (left.isGivenStandIn || right.isGivenStandIn) return 'unknown';
  // "Mary Ann" and "Maryann".
  if (
    left.given.length !== right.given.length &&
    left.given.join('') === right.given.join('')
  )
    return 'same';
  const [ours = '', ...ourRest] = left.given;
  const [theirs = '', ...theirRest] = right.given;
  if (ours === theirs) return compareFurther(ours, ourRest, theirRest);
  if (!isSimilarGiven(left.given, right.given)) return 'different';
  const isRestSame = isSubsequence(ourRest, theirRest, isInitialOrSame);
  return isRestSame && isAlikeGiven(ours, theirs) ? 'alike' : 'similar';
}

/** Compares the further words of two given names that begin with one word. */
function compareFurther(
  first: string,
  ours: readonly string[],
  theirs: readonly string[],
): NameLikeness {
  const isShared = isSharedBeginning(first);
  if (!isSubsequence(ours, theirs, isInitialOrSame))
    return !isShared && isOneMistyped(ours, theirs) ? 'respelled' : 'similar';
  const [ourNext] = ours;
  const [theirNext] = theirs;
  const isSameNext =
    ourNext === theirNext || isInitialOrSame(ourNext ?? '', theirNext ?? '');
  return isShared && !isSameNext ? 'part' : 'same';
}

/** Whether the shorter list occurs in the longer one, in order. */
function isSubsequence(
  left: readonly string[],
  right: readonly string[],
  isSame: (wanted: string, word: string) => boolean = (wanted, word) =>
    wanted === word,
): boolean {
  const [shorter, longer] =
    left.length <= right.length ? [left, right] : [right, left];
  let found = 0;
  for (const word of longer) {
    const wanted = shorter[found];
    if (wanted !== undefined && isSame(wanted, word)) found += 1;
  }
  return found === shorter.length;
}

/**
 * Whether one of as many words has one typing error, and the others are the
 * same. A last letter may be that of another name (Mario, Maria).
 */
function isOneMistyped(
  ours: readonly string[],
  theirs: readonly string[],
): boolean {
  if (ours.length !== theirs.length) return false;
  const others = ours.flatMap((word, at) => {
    const other = theirs[at] ?? '';
    return word === other ? [] : [[word, other] as const];
  });
  const [only] = others;
  if (others.length !== 1 || only === undefined) return false;
  const [left, right] = only;
  return (
    Math.min(left.length, right.length) >= SIMILAR_FROM_LETTERS &&
    left.at(-1) === right.at(-1) &&
    isOneEditApart(left, right)
  );
}

const isInitial = (left: string, right: string): boolean =>
  left[0] === right[0] && (left.length === 1 || right.length === 1);
const isInitialOrSame = (left: string, right: string): boolean =>
  left === right || isInitial(left, right);

/**
 * Twins are not called so: they have names that differ by a letter, that begin
 * alike, that are the same but for exchanged letters (Lian, Lina), or that are
 * nicknames of each other and given as names (Jack, John).
 */
const isAlikeGiven = (left: string, right: string): boolean =>
  (isSlipped(left, right) &&
    !(EXCHANGED_NAMES.has(left) && EXCHANGED_NAMES.has(right))) ||
  isInitial(left, right) ||
  (areNicknames(left, right) &&
    editsApart(left, right) > 2 &&
    !(GIVEN_AS_NAMES.has(left) && GIVEN_AS_NAMES.has(right)));

function isSimilarGiven(
  left: readonly string[],
  right: readonly string[],
): boolean {
  const ours = left[0] ?? '';
  const theirs = right[0] ?? '';
  const joined = [left.join(''), right.join('')] as const;
  return (
    isInitialOrSame(ours, theirs) ||
    isSimilarWord(ours, theirs) ||
    areNicknames(ours, theirs) ||
    isOneEdit(...joined) ||
    isSlipped(...joined) ||
    isBeginning(ours, theirs) ||
    // Called by the second name, or both in another order.
    (ours.length > 1 && right.includes(ours)) ||
    (theirs.length > 1 && left.includes(theirs))
  );
}

/**
 * Compares last names: equal, or one leaves out whole names of the other
 * ("Garcia" and "Garcia-Lopez"), in the same order. Dutch and German particles
 * may be left out ("Berg", "van der Berg"); de la Cruz is only similar to Cruz,
 * another family.
 */
export function compareFamily(
  left: PersonName,
  right: PersonName,
): NameLikeness {
  if (left.isFamilyStandIn || right.isFamilyStandIn) return 'unknown';
  const ours = left.family;
  const theirs = right.family;
  const joined = [ours.join(''), theirs.join('')] as const;
  if (joined[0] === '' || joined[1] === '') return 'different';
  if (joined[0] === joined[1] || isSubsequence(ours, theirs)) return 'same';
  const isBare = isSubsequence(left.bareFamily, right.bareFamily);
  const leavesOut =
    joined[0] === left.bareFamily.join('') ||
    joined[1] === right.bareFamily.join('');
  if (isBare && leavesOut && mayLeaveOut(left) && mayLeaveOut(right))
    return 'same';
  const isSimilar =
    isSimilarWord(...joined) ||
    isBare ||
    ours.some((unit) => theirs.includes(unit)) ||
    ours.some((unit) => theirs.some((other) => isSimilarWord(unit, other)));
  if (!isSimilar) return 'different';
  if (!isMistyped(left, right)) return 'similar';
  return frameOf(joined[0]) === frameOf(joined[1]) ? 'respelled' : 'alike';
}

/** Whether all particles of the last names are Dutch or German. */
const mayLeaveOut = ({ family, bareFamily }: PersonName): boolean =>
  family.every((unit, at) => {
    const particles = unit.slice(
      0,
      unit.length - (bareFamily[at] ?? '').length,
    );
    return /^(van|von|vom|den|der|ten|ter|te|ver|zu|zum|zur|af|av)*$/.test(
      particles,
    );
  });

/**
 * Short names differ by one letter all too often ("Jon", "Jan"), so they have
 * no similar ones.
 */
const SIMILAR_FROM_LETTERS = 4;
/** Two errors are assumed in longer names with the same first letter. */
const TWO_EDITS_FROM_LETTERS = 5;
/** "Rob" of "Robbert". */
const BEGINNING_FROM_LETTERS = 3;

const isOneEdit = (left: string, right: string): boolean =>
  Math.max(left.length, right.length) >= SIMILAR_FROM_LETTERS &&
  isOneEditApart(left, right);

function isSimilarWord(left: string, right: string): boolean {
  if (isOneEdit(left, right)) return true;
  const shorter = Math.min(left.length, right.length);
  if (
    shorter >= TWO_EDITS_FROM_LETTERS &&
    left[0] === right[0] &&
    editsApart(left, right) <= 2
  )
    return true;
  if (shorter > TWO_EDITS_FROM_LETTERS && editsApart(left, right) <= 2)
    return true;
  const sound = soundOf(left);
  return sound.length >= 3 && sound === soundOf(right);
}

const isBeginning = (left: string, right: string): boolean =>
  Math.min(left.length, right.length) >= BEGINNING_FROM_LETTERS &&
  (left.startsWith(right) || right.startsWith(left));

/**
 * Whether last names are the same but for a typing error in one of them:
 * exchanged letters, or one letter from five on, two from seven on, not the
 * first. Particles count for nothing here: "Di Pino" and "Di Pina" are two
 * short names.
 */
function isMistyped(left: PersonName, right: PersonName): boolean {
  if (left.bareFamily.length !== right.bareFamily.length) return false;
  const others = left.bareFamily.flatMap((ours, at) => {
    const theirs = right.bareFamily[at] ?? '';
    return ours === theirs ? [] : [[ours, theirs] as const];
  });
  const [only] = others;
  return others.length === 1 && only !== undefined && isMistypedName(...only);
}

function isMistypedName(ours: string, theirs: string): boolean {
  if (isSlipped(ours, theirs)) return true;
  const shorter = Math.min(ours.length, theirs.length);
  if (shorter < TWO_EDITS_FROM_LETTERS || ours[0] !== theirs[0]) return false;
  return (
    isOneEditApart(ours, theirs) ||
    (shorter >= MISREAD_FROM_LETTERS && editsApart(ours, theirs) <= 2)
  );
}
const MISREAD_FROM_LETTERS = 7;

/**
 * A last name without what names of one origin differ in: vowels, and an `e` at
 * the end.
 */
const frameOf = (name: string): string =>
  name.replace(/e$/, '').replace(/[aeiouy]/g, '*');

/**
 * The consonants of a name as they sound: transliterations differ in vowels,
 * doubled letters and spelling (Mohammed, Muhamad; Catherine, Katharina; Yusuf,
 * Youssef).
 */
function soundOf(word: string): string {
  const sound = word
    .replace(/(.)\1+/g, '$1')
    .replace(/ph|v|w/g, 'f')
    .replace(/[cqx]k?|kh|ch|gh|g(?=[^eiy]|$)/g, 'k')
    .replace(/dj|dzh|[gj]/g, 'j')
    .replace(/sch|sh|z|ts/g, 's')
    .replace(/th|dt|d/g, 't')
    .replace(/h/g, '');
  return (/^[aeiouy]/.test(sound) ? 'a' : '') + sound.replace(/[aeiouy]/g, '');
}
