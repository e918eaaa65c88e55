/** What precedes the name in RxNorm's style: `24 HR`, `1 ML`, `NDA020503 200 ACTUAT`. */
const LEADING = /^(?:NDA\d+\s+)?(?:[\d.,]+\s*(?:HR|ML|ACTUAT)\s+)*/i;
/** The first strength, and all that follows. */
const STRENGTH =
  /\s+[\d.,]+\s*(?:MG|MCG|UG|µG|G|KG|ML|L|MEQ|MMOL|UNT|UNIT|UNITS|IU|ACTUAT|HR|%|\[)(?![\p{L}]).*$/iu;

/**
 * The drug in a medication's name, for grouping: `24 HR Metformin hydrochloride 500 MG Extended Release Oral Tablet` →
 * `Metformin hydrochloride`. A combination keeps all its ingredients; a name without a strength, or a pack, stays whole.
 */
export function drugName(name: string): string {
  if (name.includes('{')) return name;
  const ingredients = name.split(' / ').map((part) => {
    const plain = part.replace(LEADING, '').replace(STRENGTH, '').trim();
    return plain === '' || !/\p{L}/u.test(plain) ? part.trim() : plain;
  });
  return ingredients.join(' / ');
}
