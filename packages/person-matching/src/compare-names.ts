import { areNicknames } from './name-words.ts';
import type { PersonName } from './person-names.ts';
import { editsApart, isOneEditApart, isSlipped } from './typing-errors.ts';

/**
 * - `same`: equal, apart from what one of the two leaves out.
 * - `part`: one is only the beginning of a name of several words, as it is
 *   common ("Maria" of "Maria Isabel"): sisters share it.
 * - `alike`: one name, of which no two people of one family have both forms: a
 *   last name with one typing error; a first name with letters exchanged, its
 *   initial, or a nickname that is not spelled like it ("Robert" and "Bob").
 * - `similar`: one name, if an error or another custom is assumed.
 * - `different`; `unknown`: one of the two only stands in for a name.
 */
export type NameLikeness =
  | 'same'
  | 'part'
  | 'alike'
  | 'similar'
  | 'different'
  | 'unknown';

/**
 * First words that so many people of one family share that the next word tells
 * them apart. Without it they are only a part.
 */
const SHARED_BEGINNINGS: ReadonlySet<string> = new Set([
  'maria',
  'mary',
  'marie',
  'ana',
  'anna',
  'ann',
  'anne',
  'rosa',
  'jose',
  'juan',
  'luis',
  'jean',
  'john',
  'muhammad',
  'mohammad',
  'mohammed',
  'mohamed',
  'mohamad',
  'muhammed',
  'md',
  'mohd',
  'abdul',
  'abdel',
  'abd',
  'abu',
  'syed',
  'sayed',
  'begum',
  'mst',
  'mosammat',
  'thi',
  'van',
  'min',
  'ji',
  'soo',
  'hyun',
  'sri',
  'sai',
  'kumar',
  'kaur',
  'singh',
  'noor',
  'nur',
  'bibi',
  'lal',
]);

/**
 * Compares given names: the first word decides, further ones must not
 * contradict.
 */
export function compareGiven(
  left: PersonName,
  right: PersonName,
): NameLikeness {
  if (left.isGivenStandIn || right.isGivenStandIn) return 'unknown';
  const [ours = '', ...ourRest] = left.given;
  const [theirs = '', ...theirRest] = right.given;
  // "Mary Ann" and "Maryann".
  if (
    left.given.length !== right.given.length &&
    left.given.join('') === right.given.join('')
  )
    return 'same';
  const isRestSame = isSubsequence(ourRest, theirRest, isInitialOrSame);
  if (ours === theirs && isRestSame) {
    const ourNext = ourRest[0];
    const theirNext = theirRest[0];
    const isSameNext =
      ourNext === theirNext || isInitialOrSame(ourNext ?? '', theirNext ?? '');
    return SHARED_BEGINNINGS.has(ours) && !isSameNext ? 'part' : 'same';
  }
  if (!isSimilarGiven(left.given, right.given)) return 'different';
  return isRestSame && isAlikeGiven(ours, theirs) ? 'alike' : 'similar';
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

const isInitial = (left: string, right: string): boolean =>
  left[0] === right[0] && (left.length === 1 || right.length === 1);
const isInitialOrSame = (left: string, right: string): boolean =>
  left === right || isInitial(left, right);

/**
 * Twins are not called so: they have names that differ by a letter, or that
 * begin alike.
 */
const isAlikeGiven = (left: string, right: string): boolean =>
  isSlipped(left, right) ||
  isInitial(left, right) ||
  (areNicknames(left, right) && editsApart(left, right) > 2);

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
 * ("Garcia" and "Garcia-Lopez"), in the same order.
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
  // One of the two leaves all particles out ("Berg", "van der Berg").
  const isBare = isSubsequence(left.bareFamily, right.bareFamily);
  if (
    isBare &&
    (joined[0] === left.bareFamily.join('') ||
      joined[1] === right.bareFamily.join(''))
  )
    return 'same';
  const isSimilar =
    isSimilarWord(...joined) ||
    isBare ||
    ours.some((unit) => theirs.includes(unit)) ||
    ours.some((unit) => theirs.some((other) => isSimilarWord(unit, other)));
  if (!isSimilar) return 'different';
  return isMistyped(left, right) ? 'alike' : 'similar';
}

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
