import fc from 'fast-check';
import { stepsOf } from '../../support/steps.ts';
import type { CallerText } from './caller-texts.ts';

/** Repetitions that are compared with twice as many: first few, because an exponent shows early. */
const TIMES = [8, 100];
/** Twice as much text may cost so many times the steps, and some more. */
const FACTOR_MAX = 2.5;
const STEPS_MORE = 5_000;

/**
 * Searches for a worst case of a language: pieces that, repeated twice as often,
 * cost more than about twice the steps. Throws with the smallest one found, and
 * with the seed and path that repeat it.
 */
export function searchGrowth(
  { words, samples, parse, refusals }: CallerText,
  options: fc.Parameters<[string, string, string]>,
): void {
  const text = fc
    .array(fc.constantFrom(...words), { maxLength: 3 })
    .map((each) => each.join(''));
  const piece = fc
    .array(fc.constantFrom(...words), { minLength: 1, maxLength: 4 })
    .map((each) => each.join(''));
  const read = (given: string) => () => {
    try {
      parse(given);
    } catch (error) {
      if (!refusals.some((refusal) => error instanceof refusal)) throw error;
    }
  };
  const property = fc.property(text, piece, text, (start, repeated, end) => {
    const textOf = (times: number) => `${start}${repeated.repeat(times)}${end}`;
    for (const times of TIMES) {
      read(textOf(times))();
      const once = stepsOf(read(textOf(times)));
      const twice = stepsOf(read(textOf(times * 2)));
      if (twice > once * FACTOR_MAX + STEPS_MORE)
        throw new Error(
          `${times} times ${JSON.stringify(repeated)}: ${once} steps, twice as often: ${twice}`,
        );
    }
  });
  // Each word before something that is read, then what chance puts together.
  const [sample = ''] = samples;
  const examples = words.map((word): [string, string, string] => [
    '',
    word,
    sample,
  ]);
  fc.assert(property, { examples, ...options });
}
