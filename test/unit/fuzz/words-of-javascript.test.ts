import { expect, test } from 'vitest';
import { traitsOfPerson } from '#person-matching';
import { renderHtml, summarise } from '#record-summary';
import {
  deliveriesOf,
  patientIdsOf,
  personOf,
  samples,
} from '../../support/deliveries.ts';
import { mergeDeliveries } from '../../support/merge-deliveries.ts';
import { readerOf } from '../../support/summary-reader.ts';
import { READERS } from './readers.ts';

/**
 * What every JavaScript object has, so that a table that is looked up by such a
 * word finds what it does not hold.
 */
const WORDS = ['constructor', 'toString', '__proto__'];

/** So many values of JSON are replaced at once. */
const AT_ONCE = 8;

/**
 * The words of a sample in groups that are replaced together. Without its name
 * or its type, what stands around a word is not read: only plain values have
 * company, of other resources.
 */
function groupsOf(sample: string, tokens: readonly string[]): string[][] {
  const isPlain = (token: string) =>
    sample.includes(`:"${token}"`) &&
    !sample.includes(`"${token}":`) &&
    !sample.includes(`"resourceType":"${token}"`);
  const plain = tokens.filter(isPlain);
  const groups = Math.ceil(plain.length / AT_ONCE);
  return [
    ...tokens.filter((token) => !isPlain(token)).map((token) => [token]),
    ...Array.from({ length: groups }, (_, group) =>
      plain.filter((_token, at) => at % groups === group),
    ),
  ];
}

test.each(Object.entries(READERS))(
  '%s: any word of it may be one of JavaScript',
  async (_, reader) => {
    const tried = new Set<string>();
    /** Whether it is read: what is refused says nothing of the words behind. */
    const isRead = async (
      text: string,
      tokens: readonly string[],
    ): Promise<boolean> => {
      const words = tokens.map(
        (token, index) => [token, WORDS[index % WORDS.length] ?? ''] as const,
      );
      const changed = words.reduce(
        (before, [token, word]) => before.replaceAll(token, word),
        text,
      );
      try {
        await reader.read(Buffer.from(changed, 'latin1'));
        return true;
      } catch (error) {
        if (reader.refusals.some((refusal) => error instanceof refusal))
          return false;
        throw new Error(words.map((each) => each.join(' as ')).join(), {
          cause: error,
        });
      }
    };
    for (const sample of reader.samples.map((bytes) =>
      bytes.toString('latin1'),
    )) {
      // Names of elements would make it something else, so only what stands in
      // quotation marks or between separators.
      const tokens = [
        ...sample.matchAll(/["|^~,]([A-Za-z][\w-]{0,11})(?=["|^~,])/g),
      ]
        .map(([, token = '']) => token)
        .filter((token) => !tried.has(token) && tried.add(token));
      for (const group of groupsOf(sample, tokens))
        if (!(await isRead(sample, group)) && group.length > 1)
          for (const token of group) await isRead(sample, [token]);
    }
  },
);

const [sample] = samples;
if (sample === undefined) throw new Error('there are no sample patients');
/** One resource of each type. */
const delivered = [
  ...new Map(
    deliveriesOf(sample).map((each) => [each.resourceType, each]),
  ).values(),
];

test('a record whose codes are such words shows them, and nothing of JavaScript', async () => {
  const texts = delivered.flatMap(
    ({ content }) =>
      JSON.stringify(content).match(/(?<=":")[A-Za-z][\w-]*(?=")/g) ?? [],
  );
  for (const [index, token] of [...new Set(texts)].entries()) {
    const word = WORDS[index % WORDS.length] ?? '';
    const changed = delivered.map((each) => ({
      ...each,
      content: JSON.parse(
        JSON.stringify(each.content).replaceAll(`":"${token}"`, `":"${word}"`),
      ),
    }));
    const merged = mergeDeliveries(
      personOf(sample),
      changed,
      patientIdsOf(sample),
    );
    const pieces: string[] = [JSON.stringify(merged)];
    const parts = summarise(readerOf(merged.resources), {
      filter: {},
      madeAt: new Date(0),
    });
    for await (const piece of renderHtml(parts)) pieces.push(String(piece));
    expect(pieces.join(''), token).not.toMatch(
      /\[native code\]|\[object Object\]/,
    );
  }
});

test.each(WORDS)('a person may be called %s, and live there', (word) => {
  const person = personOf(sample);
  const address = {
    addressLine1: `12 ${word} Way`,
    city: word,
    state: 'MA',
    zip: '02110',
    country: 'USA',
  };
  expect(() =>
    traitsOfPerson({
      ...person,
      firstNames: [word],
      lastNames: [`${word} ${word}`],
      addresses: [address],
    } as never),
  ).not.toThrow();
});
