import { words } from './name-words.ts';

/** Bounds the length of a search; names have a few words. */
const VARIANTS_MAX = 12;

/**
 * The beginnings under which a server may have indexed a name that our matching rule regards as equal: with either
 * apostrophe, without punctuation, joined, without accents, and each of its words ("Garcia-Lopez" may be stored as "Lopez").
 * Case is left out: FHIR's string search ignores it.
 */
export function nameVariants(name: string): string[] {
  const spelled = name.trim();
  const plain = words(spelled);
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
