/** Longer words describe rather than name. */
const NAME_MAX = 400;

/**
 * Words that many names share, so that they tell no two things apart: forms,
 * units and salts of drugs, and what SNOMED CT calls kinds of things.
 */
const COMMON: ReadonlySet<string> = new Set([
  // Forms.
  'aerosol',
  'capsule',
  'caplet',
  'cream',
  'drop',
  'extended',
  'for',
  'inhalant',
  'inhaler',
  'injectable',
  'injection',
  'oral',
  'ointment',
  'patch',
  'pill',
  'powder',
  'product',
  'release',
  'solution',
  'spray',
  'suspension',
  'syringe',
  'syrup',
  'tab',
  'tablet',
  'topical',
  'vial',
  // Small words.
  'and',
  'as',
  'by',
  'in',
  'of',
  'or',
  'the',
  'to',
  'with',
  // Units.
  'actuat',
  'cc',
  'g',
  'gm',
  'gram',
  'iu',
  'l',
  'mcg',
  'meq',
  'mg',
  'microgram',
  'milligram',
  'ml',
  'percent',
  'ug',
  'unit',
  // Salts.
  'acetate',
  'bitartrate',
  'bromide',
  'calcium',
  'carbonate',
  'chloride',
  'citrate',
  'fumarate',
  'hcl',
  'hydrochloride',
  'magnesium',
  'maleate',
  'mesylate',
  'phosphate',
  'potassium',
  'sodium',
  'succinate',
  'sulfate',
  'tartrate',
  // Kinds of things.
  'acute',
  'allergy',
  'chronic',
  'condition',
  'disease',
  'disorder',
  'drug',
  'finding',
  'history',
  'left',
  'medication',
  'procedure',
  'problem',
  'right',
  'situation',
  'substance',
  'syndrome',
  'test',
  'type',
  'unspecified',
]);

/** A code, a placeholder or a name of a program's own is no name. */
function isName(text: string, codes: readonly string[]): boolean {
  const isPlaceholder = /^null$/i.test(text) || /^\w+(?:\.\w+){2,}$/.test(text);
  return !isPlaceholder && !codes.includes(text);
}

/**
 * The words for a coded thing. The author's own words name it, if they have a
 * word in common with a name of its codes. If they have none, they may be those
 * of another cell of the narrative, or a name that the code does not have: both
 * are shown, the code's name first.
 *
 * @param names what its codes are called, and its name beside them
 * @param written the original text
 */
export function shownName(
  names: readonly string[],
  written: string | undefined,
  codes: readonly string[],
): string | undefined {
  const [first, ...others] = names.filter((name) => isName(name, codes));
  if (first === undefined) return written ?? names[0];
  if (written === undefined || codes.includes(written)) return first;
  if (written.length > NAME_MAX) return first;

  const areAlike = [first, ...others].some((name) => shareName(name, written));
  const denyBoth = DENIAL.test(first) && DENIAL.test(written);
  return areAlike || denyBoth ? written : withWritten(first, written);
}

/** Words that there is none of something. */
const DENIAL = /^(?:no|none|not|nk[a-z]{0,3}|denies)\b/i;

const withWritten = (name: string, written: string): string =>
  `${name} (${written})`;

/** The author's own words of a text in which they stand beside a name. */
export function writtenBeside(
  text: string | undefined,
  names: readonly (string | undefined)[],
): string | undefined {
  const name = names.find(
    (each) => text?.startsWith(`${each} (`) && text.endsWith(')'),
  );
  return name === undefined ? text : text?.slice(name.length + 2, -1);
}

/** Whether two names have a word in common that tells things apart. */
export function shareName(one: string, other: string): boolean {
  const own = wordsOf(one);
  const its = wordsOf(other);
  const telling = own.filter(isTelling);
  const itsTelling = its.filter(isTelling);
  return telling.length === 0 || itsTelling.length === 0
    ? own.some((word) => its.includes(word))
    : telling.some((word) => itsTelling.includes(word));
}

/** Whether words say nothing beyond a name, but for numbers and dates. */
export function saysNoMore(words: string, name: string): boolean {
  const known = wordsOf(name);
  const telling = wordsOf(words).filter(isTelling);
  return telling.length === 0
    ? name.includes(words)
    : telling.every((word) => known.includes(word) || word === 'loinc');
}

/** The words of a name in lower case and in the singular. */
const wordsOf = (name: string): string[] =>
  (name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
    word.replace(/(?<=\p{L}{3})s$/u, ''),
  );

const isTelling = (word: string): boolean =>
  word.length > 1 && !/^\d/.test(word) && !COMMON.has(word);
