import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readXml } from '../../src/xml/read-xml.ts';
import { escapeXml, xml } from '../../src/xml/write-xml.ts';
import { attributeOf } from '../../src/xml/xml-element.ts';

test('what is written into an element or attribute is read again', () => {
  const anyText = fc
    .string({ unit: 'grapheme' })
    .map((text) => `${text}<&>"'\t\r\n]]>`);
  fc.assert(
    fc.property(anyText, (text) => {
      const { source } = xml`<a b="${text}">${text}</a>`;
      const root = readXml(Buffer.from(source));
      expect(root.text).toBe(text);
      expect(root.attributes[0]?.value).toBe(text);
    }),
  );
});

test('characters that XML cannot say are left out', () => {
  expect(escapeXml('a\u0000b\uD800c\uFFFFd\u{1F600}')).toBe('abcd\u{1F600}');
});

test('fragments, lists, numbers and nothing are put in', () => {
  const children = [1, 'é&'].map((each) => xml`<b>${each}</b>`);
  const fragment = xml`
    <a
      c="${'x'}"
      d="y">
      ${undefined}
      ${children}
    </a>
  `;
  expect(fragment.source).toBe('<a c="x" d="y"><b>1</b><b>é&amp;</b></a>');
  expect(attributeOf(readXml(Buffer.from(fragment.source)), 'c')).toBe('x');
});
