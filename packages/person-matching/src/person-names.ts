import type { FhirPatient } from './descriptions.ts';
import { areNicknames, nameWords } from './name-words.ts';
import { isStandInFamily, isStandInGiven } from './stand-ins.ts';

/**
 * One name of a person, in comparable words. A person may have several: a
 * former one, an alias.
 */
export interface PersonName {
  /** The words of the first and further given names. */
  given: readonly string[];
  /**
   * The last names; a particle and the word that it belongs to are one ("de la
   * Cruz": delacruz).
   */
  family: readonly string[];
  /** The last names without particles: Cruz. */
  bareFamily: readonly string[];
  /** Senior, junior and so on, as a number. */
  generation?: number;
  /** What the person is called beside another name of theirs ("Bob"). */
  isNickname: boolean;
  /** The name only stands in for one: a newborn's, or an unknown person's. */
  isGivenStandIn: boolean;
  isFamilyStandIn: boolean;
}

const GENERATIONS: ReadonlyMap<string, number> = new Map([
  ...['sr', 'senior', '1st'].map((word) => [word, 1] as const),
  ...['jr', 'junior', 'jnr', 'ii', '2nd'].map((word) => [word, 2] as const),
  ...['iii', '3rd'].map((word) => [word, 3] as const),
  ...['iv', '4th'].map((word) => [word, 4] as const),
]);
/** Neither names nor generations: titles and degrees. */
const TITLES: ReadonlySet<string> = new Set([
  'dr',
  'mr',
  'mrs',
  'ms',
  'prof',
  'rev',
  'md',
  'phd',
  'esq',
  'rn',
  'dds',
]);

/** Words that begin a last name without being one. */
const PARTICLES: ReadonlySet<string> = new Set([
  'a',
  'af',
  'al',
  'ap',
  'av',
  'abd',
  'abdel',
  'abdul',
  'abou',
  'abu',
  'bar',
  'ben',
  'bin',
  'bint',
  'da',
  'dal',
  'dala',
  'das',
  'de',
  'del',
  'dela',
  'della',
  'delle',
  'dello',
  'den',
  'der',
  'des',
  'di',
  'do',
  'dos',
  'du',
  'e',
  'el',
  'fitz',
  'i',
  'ibn',
  'la',
  'las',
  'le',
  'lo',
  'los',
  'mac',
  'mc',
  'o',
  'san',
  'santa',
  'st',
  'saint',
  'te',
  'ten',
  'ter',
  'ul',
  'und',
  'ur',
  'van',
  'vanden',
  'vander',
  'ver',
  'von',
  'y',
  'zu',
  'zum',
  'zur',
]);
const CONJUNCTIONS: ReadonlySet<string> = new Set(['y', 'e', 'i', 'und']);

interface NameParts {
  /** Words, as are the others. */
  given: readonly string[];
  family: readonly string[];
  /** A suffix that is apart from the names. */
  suffix?: readonly string[];
  isNickname?: boolean;
  /** An adult is called Baby or Boy; a child only until it has a name. */
  isAdult: boolean;
}

export function personName({
  given,
  family,
  suffix: suffixes = [],
  isNickname = false,
  isAdult,
}: NameParts): PersonName {
  const stated = (list: readonly string[]) => list.slice(1).concat(suffixes);
  const generation = [...stated(family), ...stated(given)]
    .map((word) => GENERATIONS.get(word))
    .find(Boolean);
  const names = withoutTitles(given);
  const lastNames = familyUnits(withoutTitles(family));
  return {
    given: names,
    family: lastNames.whole,
    bareFamily: lastNames.bare,
    ...(generation === undefined ? {} : { generation }),
    isNickname,
    isGivenStandIn: isStandInGiven(names, isAdult),
    isFamilyStandIn: isStandInFamily(lastNames.whole, names),
  };
}

/**
 * Without titles, and without generations after the first word; a name is never
 * left empty.
 */
function withoutTitles(list: readonly string[]): readonly string[] {
  const titled =
    list.length > 1 ? list.filter((word) => !TITLES.has(word)) : list;
  const rest = titled.filter(
    (word, index) => index === 0 || !GENERATIONS.has(word),
  );
  return rest.length === 0 ? list : rest;
}

/**
 * Joins particles to the word after them. The last word is always a name: "Van"
 * and "Do" are last names as well.
 */
function familyUnits(list: readonly string[]): {
  whole: string[];
  bare: string[];
} {
  const units = { whole: [] as string[], bare: [] as string[] };
  let particles = '';
  for (const [index, word] of list.entries()) {
    const isLast = index === list.length - 1;
    if (!isLast && index > 0 && particles === '' && CONJUNCTIONS.has(word))
      continue;
    if (!isLast && PARTICLES.has(word))
      particles += word === 'saint' ? 'st' : word;
    else {
      units.whole.push(particles + word);
      units.bare.push(word);
      particles = '';
    }
  }
  return units;
}

/**
 * The names of a Patient. A name without given names, as a maiden name often
 * is, has those of the other names; one without a last name likewise. A name
 * that is only a text ends with the last name, or begins with it and a comma.
 */
export function namesOfPatient(
  names: NonNullable<FhirPatient['name']>,
  isAdult: boolean,
): PersonName[] {
  const read = names.map(({ given = [], family, suffix = [], text }) => {
    if (given.length > 0 || family !== undefined)
      return {
        given: given.flatMap(nameWords),
        family: nameWords(family),
        suffix: suffix.flatMap(nameWords),
      };
    return { ...textName(text ?? ''), suffix: [] };
  });
  const isWhole = (name: {
    given: readonly string[];
    family: readonly string[];
  }) => name.given.length > 0 && name.family.length > 0;
  const whole = read.flatMap((name): Omit<NameParts, 'isAdult'>[] => {
    if (isWhole(name)) return [name];
    if (name.given.length === 0 && name.family.length === 0) return [];
    return read.flatMap((other) => {
      const completed = {
        given: name.given.length > 0 ? name.given : other.given,
        family: name.family.length > 0 ? name.family : other.family,
      };
      return other === name || !isWhole(completed)
        ? []
        : [{ ...completed, suffix: name.suffix }];
    });
  });
  return whole.map((name) =>
    personName({
      ...name,
      isNickname: whole.some((other) => isCalled(name.given, other.given)),
      isAdult,
    }),
  );
}

/** Whether a single first name is a nickname of another one. */
const isCalled = (given: readonly string[], formal: readonly string[]) => {
  const [called = ''] = given;
  const [first = ''] = formal;
  return (
    given.length === 1 &&
    called.length < first.length &&
    areNicknames(called, first)
  );
};

function textName(text: string): { given: string[]; family: string[] } {
  const [family = '', given] = text.split(',', 2);
  if (given !== undefined && !GENERATIONS.has(nameWords(given).join('')))
    return { given: nameWords(given), family: nameWords(family) };
  const all = nameWords(text);
  const isEnd = (word: string) => GENERATIONS.has(word) || TITLES.has(word);
  let start = all.length - 1;
  while (start > 1 && isEnd(all[start] ?? '')) start -= 1;
  while (start > 1 && PARTICLES.has(all[start - 1] ?? '')) start -= 1;
  return {
    given: all.slice(0, Math.max(start, 0)),
    family: all.slice(Math.max(start, 0)),
  };
}
