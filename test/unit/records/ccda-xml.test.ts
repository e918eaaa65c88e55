import { fc, test } from '@fast-check/vitest';
import { convertXmlToCcda } from '@medplum/ccda';
import { describe, expect } from 'vitest';
import { readPlainXml } from '../../../src/exchange/records/ccda/plain-xml.ts';
import { LISTS, readCcda } from '../../../src/exchange/records/ccda/read-ccda.ts';
import { openXml } from '../../../src/exchange/records/ccda/xml-gate.ts';
import { loadCcda, loadSamplePatients } from '../../../src/simulator/samples.ts';

/** As text, so that the order of members counts too. */
const textOf = (read: unknown): string | undefined => JSON.stringify(read);
const inDocument = (content: string) => `<ClinicalDocument>${content}</ClinicalDocument>`;

const NAMES = ['id', 'name', 'given', 'component', 'section', 'entry', 'x', 'xsi:type', 'constructor', 'a-b'];
const name = fc.constantFrom(...NAMES);
const space = fc.constantFrom('', ' ', '\n', '\t ', '\r\n');
/** Well-formed text. An equals sign before a line end could begin an attribute, so it may be left to the library. */
const plainWords = fc.oneof(
  fc.constantFrom(' a ', 'b&amp;lt;', '&lt;&apos;&quot;', 'c > d', ' e', '&gt;'),
  fc.string({ maxLength: 8 }).map((text) => text.replaceAll(/[<&\]=]/g, '')),
);
const plainText = fc.oneof(plainWords, fc.constantFrom(' e\tf', 'g\r\nh\ri'));
const anyWords = fc.oneof(
  plainText,
  fc.constantFrom('&', '&unknown;', '&#xe4;', '&#39;', '&#x27;', '&#60; &gt;', ']]>', '\u0001', '\ufffe'),
);
const attributesWith = (values: fc.Arbitrary<string>) =>
  fc
    .uniqueArray(fc.tuple(name, fc.constantFrom('=', ' = '), values, fc.constantFrom('"', "'")), {
      maxLength: 3,
      selector: ([own]) => own,
    })
    .map((all) =>
      all
        .map(
          ([own, equals, value, quote]) => ` ${own}${equals}${quote}${value.replaceAll(quote, '')}${quote}`,
        )
        .join(''),
    );

/** Nested elements with attributes, text, and some of the given parts. */
const contentWith = (values: fc.Arbitrary<string>, text: fc.Arbitrary<string>, parts: string[]) =>
  fc.letrec<{ content: string; element: string }>((tie) => ({
    content: fc
      .array(fc.oneof(text, tie('element'), tie('element'), fc.constantFrom(...parts)), { maxLength: 4 })
      .map((all) => all.join('')),
    element: fc
      .tuple(name, attributesWith(values), space, tie('content'))
      .map(([own, attributes, end, inner]) => `<${own}${attributes}${end}>${inner}</${own}${end}>`),
  })).content;
const PLAIN = ['<!-- a <b> -->', '<!---->', '<x/>', '<x a="" />'];
const plainDocument = fc
  .tuple(
    fc.constantFrom('', '<?xml version="1.0"?>\n<!-- b -->'),
    contentWith(plainWords, plainText, PLAIN),
    space,
  )
  .map(([before, content, after]) => before + inDocument(content) + after);

const ODD = [
  '<![CDATA[ <c> ]]>',
  '<?pi x="?>"?>',
  '<x / >',
  '<_c/>',
  '<d.e/>',
  '<x a=1/>',
  '<x a="1"b="2"/>',
  '<x a="1" a="2"/>',
  '<x>',
];
/** A document of which a part may be missing or repeated. */
const anyDocument = fc
  .tuple(
    contentWith(anyWords, anyWords, [...PLAIN, ...ODD]),
    fc.constantFrom('', '<x/>', '<ClinicalDocument/>'),
    fc.option(fc.tuple(fc.nat(), fc.nat(9), fc.nat(2))),
  )
  .map(([content, after, damage]) => {
    const whole = inDocument(content) + after;
    if (damage === null) return whole;
    const at = damage[0] % whole.length;
    return (
      whole.slice(0, at) + whole.slice(at, at + damage[1]).repeat(damage[2]) + whole.slice(at + damage[1])
    );
  });

describe('a document that the plain reader accepts', () => {
  test.prop([plainDocument], { numRuns: 1_000 })(
    'is what the library makes of it, to the order of its members',
    (xml) => {
      expect(textOf(readPlainXml(xml, LISTS)?.ClinicalDocument)).toBe(textOf(convertXmlToCcda(xml)));
    },
  );

  test.prop([anyDocument], { numRuns: 1_000 })('is so whatever it looks like', (xml) => {
    const read = readPlainXml(xml, LISTS);
    if (read !== undefined) expect(textOf(read.ClinicalDocument)).toBe(textOf(convertXmlToCcda(xml)));
  });

  test.each(loadSamplePatients())('is the C-CDA of $key', (sample) => {
    const opened = openXml(loadCcda(sample));
    if (opened.kind !== 'xml') throw new Error('not XML');
    const read = readPlainXml(opened.text, LISTS);
    expect(textOf(read?.ClinicalDocument)).toBe(textOf(convertXmlToCcda(opened.text)));
  });

  test.each(LISTS)('has a list at %s, even of one', (path) => {
    const names = path.split('.').filter((part) => part !== '' && part !== 'ClinicalDocument');
    const xml = inDocument(
      `<x>${names.map((each) => `<${each}>`).join('')}1${names
        .reverse()
        .map((each) => `</${each}>`)
        .join('')}</x>${names.map((each) => `<${each}/>`).join('')}`,
    );
    expect(textOf(readPlainXml(xml, LISTS)?.ClinicalDocument)).toBe(textOf(convertXmlToCcda(xml)));
  });
});

test.each([
  ['CDATA', '<x><![CDATA[a]]></x>'],
  ['a processing instruction within', '<x><?pi?></x>'],
  ['no end tag', '<x>'],
  ['an end tag of another element', '<x></y>'],
  ['an attribute without quotation marks', '<x a=1/>'],
  ['an attribute that is there twice', '<x a="1" a="2"/>'],
  ['a line end in an attribute', '<x a="1\n2"/>'],
  ['a character given as a number', '<x>&#xe4;</x>'],
  ['an unknown entity', '<x>&unknown;</x>'],
  ['an ampersand by itself', '<x>a & b</x>'],
])('what is not plain is left to the library: %s', (_, content) => {
  const xml = inDocument(content);
  expect(readPlainXml(xml, LISTS)).toBeUndefined();
  expect(textOf(readCcda(xml))).toBe(textOf(convertXmlToCcda(xml)));
});
