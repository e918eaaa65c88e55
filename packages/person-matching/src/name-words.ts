import { NICKNAMES } from './nicknames.ts';

const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** A text without case, accents and apostrophes. */
export const plainLetters = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter] ?? letter)
    .replace(/['’`´ʼ.]/g, '');

/**
 * Splits a name into comparable words without case, accents and apostrophes:
 * "O’Brien-Núñez" becomes obrien, nunez.
 */
export const nameWords = (text = ''): string[] =>
  ONE_WORD.test(text)
    ? [text.toLowerCase()]
    : plainLetters(text)
        .split(NO_WORD)
        .filter((word) => word !== '');

/** Most names are. */
const ONE_WORD = /^[A-Za-z]+$/;
const NO_WORD = /[^\p{L}\p{N}]+/u;

/** For each name, the rows of the table that contain it. */
const ROWS = new Map<string, number[]>();
for (const [row, names] of NICKNAMES.entries())
  for (const name of names) ROWS.set(name, [...(ROWS.get(name) ?? []), row]);

/**
 * Whether one name is a nickname of the other, or both are of the same name.
 * @param left, right comparable words
 */
export function areNicknames(left: string, right: string): boolean {
  const rows = ROWS.get(left) ?? [];
  return ROWS.get(right)?.some((row) => rows.includes(row)) ?? false;
}

/** Bounds the length of a search; names have a few words. */
const VARIANTS_MAX = 12;

/**
 * The beginnings under which a server may have indexed a name that our matching
 * rule regards as equal: with either apostrophe, without punctuation, joined,
 * without accents, and each of its words ("Garcia-Lopez" may be stored as
 * "Lopez"). Case is left out: FHIR's string search ignores it.
 */
export function nameVariants(name: string): string[] {
  const spelled = name.trim();
  const plain = nameWords(spelled);
  const variants = [
    spelled,
    spelled.replace(/[’`´ʼ]/g, "'"),
    spelled.replace(/['`´ʼ]/g, '’'),
    plain.join(' '),
    plain.join(''),
    ...plain,
  ];
  const seen = new Set<string>();
  return variants
    .filter((variant) => {
      const key = variant.toLowerCase();
      if (key === '' || seen.has(key)) return false;
      seen.add(key);
      return true;
    })
    .slice(0, VARIANTS_MAX);
}
