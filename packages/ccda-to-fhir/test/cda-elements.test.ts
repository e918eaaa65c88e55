import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stepsOf } from '../src/cda-path.ts';
import {
  attribute,
  type CdaElement,
  elementsAt,
  narrativeParts,
  readElements,
  words,
} from '../src/element.ts';
import { isUcum } from '../src/ucum.ts';

const name = fc.constantFrom(
  'a',
  'b',
  'id',
  'entry',
  'constructor',
  '__proto__',
);
const text = fc
  .string({ maxLength: 6 })
  .map((words) => words.replaceAll(/[^ -~]/g, ' '));
const element = fc.letrec<{ element: CdaElement }>((tie) => ({
  element: fc.record({
    name,
    attributes: fc.dictionary(
      fc.constantFrom('code', 'root'),
      text.filter((value) => value.trim() === value && value !== ''),
      { maxKeys: 2 },
    ),
    content: fc.array(
      fc.oneof(
        text.filter((value) => value !== ''),
        tie('element'),
      ),
      { maxLength: 3 },
    ),
  }),
})).element;
const escaped = (words: string) =>
  words
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
const written = (
  { name: own, attributes, content }: CdaElement,
  prefix = '',
): string =>
  `<${prefix}${own}${Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escaped(value)}"`)
    .join('')}>${content
    .map((part) =>
      typeof part === 'string' ? escaped(part) : written(part, prefix),
    )
    .join('<!-- c -->')}</${prefix}${own}>`;
/**
 * Joins texts that follow each other, which the reader may give in one piece.
 */
const joined = ({ name: own, attributes, content }: CdaElement): unknown => ({
  own,
  attributes: { ...attributes },
  content: content
    .map((part) => (typeof part === 'string' ? part : joined(part)))
    .reduce<unknown[]>((all, part) => {
      const last = all.at(-1);
      if (typeof part === 'string' && typeof last === 'string')
        all[all.length - 1] = last + part;
      else all.push(part);
      return all;
    }, []),
});

describe('a document', () => {
  test('is read as it was written, in its order, with or without prefixes', () => {
    fc.assert(
      fc.property(element, fc.constantFrom('', 'cda:'), (whole, prefix) => {
        const [read] = readElements(written(whole, prefix)).content;
        expect(joined(read as CdaElement)).toEqual(joined(whole));
      }),
    );
  });

  test.each([
    ['CDATA', '<x><![CDATA[a <b>]]></x>', 'a <b>'],
    ['an unknown entity', '<x>a &deg; b</x>', 'a &deg; b'],
    ['a processing instruction', '<x>a<?pi?></x>', 'a'],
  ])('is read although it has %s', (_, xml, expected) => {
    expect(
      words(elementsAt(readElements(xml), stepsOf('x'))[0], { parts: [] }),
    ).toBe(expected);
  });

  test.each([
    ['has no end tag', '<x><y></x>'],
    ['has an end tag of another element', '<x></y></x>'],
    ['is cut off', '<x><y>'],
  ])('is not read when an element %s', (_, xml) => {
    expect(() => readElements(xml)).toThrow();
  });
});

test('a path finds elements by their attributes, codes and templates', () => {
  const document = readElements(
    '<e><r typeCode="MFST"><o><templateId root="2.16.840.1.113883.10.20.22.4.9"/><code code="SEV"/></o></r><r typeCode="SUBJ"><o/></r></e>',
  );
  const count = (path: string) => elementsAt(document, stepsOf(path)).length;
  expect([
    count('e/r/o'),
    count('e/r[@typeCode=MFST]/o'),
    count('e/r/o[code=A|SEV]'),
    count('e/r/o[template=4.9]'),
  ]).toEqual([2, 1, 1, 1]);
  expect(elementsAt(document, '.')).toEqual([document]);
  expect(attribute(elementsAt(document, stepsOf('e/r'))[0], 'typeCode')).toBe(
    'MFST',
  );
});

test('words of the narrative keep their order and the lines of blocks', () => {
  const document = readElements(
    '<s><text><table><tr><td ID="a">No <content>known</content> allergies</td><td>today</td></tr><tr><td/></tr></table></text><v><reference value="#a"/></v><w><reference value="#none"/></w></s>',
  );
  const parts = [narrativeParts(document)];
  const said = (path: string) =>
    words(elementsAt(document, stepsOf(path))[0], { parts });
  expect(said('s/text')).toBe('No known allergies | today');
  expect(said('s/v')).toBe('No known allergies');
  expect(said('s/w')).toBeUndefined();
});

test.each([
  'mg/dL',
  '10*3/uL',
  '{tbl}',
  '%',
  'mm[Hg]',
  '[in_i]',
  '/min',
  'kg/m2',
  '1',
  'ug/(kg.min)',
  '10*6/L',
  '[pH]',
  'mol{a}',
  'Cel',
  '1/d',
])('%s is a unit of UCUM', (unit) => expect(isUcum(unit)).toBe(true));
test.each([
  'mcg',
  'TAB',
  'thou/mcL',
  'seconds',
  'mg/',
  '',
  'mg dL',
  '10^3/ul)',
  'BID',
  'm^2',
  'meq/l]',
  '(mg',
])('"%s" is none', (unit) => expect(isUcum(unit)).toBe(false));
