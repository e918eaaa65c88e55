import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { CALLER_TEXTS, type CallerText } from './caller-texts.ts';
import { searchGrowth } from './growth.ts';

/** The short form of `npm run fuzz -- growth`. */
const RUNS = 50;
const seed = randomInt(2 ** 31);

test.each(Object.entries<CallerText>(CALLER_TEXTS))(
  '%s: twice as much text costs about twice the steps, whatever is repeated',
  (_, language) => {
    searchGrowth(language, { seed, numRuns: RUNS });
  },
);

test('a language whose parser looks at everything again is found', () => {
  const parse = (text: string) => {
    for (const letter of text)
      for (const other of text) Math.abs(letter === other ? 1 : 0);
  };
  const language = { words: ['a', 'b'], samples: [], parse, refusals: [] };
  expect(() => searchGrowth(language, { seed, numRuns: RUNS })).toThrow(
    'Property failed',
  );
});
