import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decimalOf,
  fhirJson,
  parseFhirJson,
} from '../../../src/lib/written-decimals.ts';
import { property } from '../../support/property.ts';

const through = (text: string): string =>
  fhirJson(parseFhirJson(text) as object);
/** As PostgreSQL keeps jsonb: names by length, then in byte order. */
const stored = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(stored);
  if (typeof value !== 'object' || value === null) return value;
  const sorted = Object.entries(value).sort(
    ([a], [b]) => a.length - b.length || (a < b ? -1 : 1),
  );
  return Object.fromEntries(sorted.map(([name, part]) => [name, stored(part)]));
};

const decimal = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.bigInt({ min: 0n, max: 10n ** 20n }),
    fc.stringMatching(/^(\.\d{1,20})?$/),
    fc.constantFrom('', '', 'e3', 'E-7'),
  )
  .map((parts) => parts.join(''));
const text = fc.oneof(
  fc.string(),
  fc.constantFrom(
    '"value":5.00,',
    '\\',
    '\\"',
    '": 1.0}',
    '_value',
    'https://a/1.0',
  ),
);

describe('a decimal', () => {
  test.each([
    '5.00',
    '0.10',
    '1.0',
    '-0.50',
    '12345678901234567890',
    '0.12345678901234567890',
    '1e-7',
    '0.00000010',
    '1E3',
    '1e400',
    '-0.0',
  ])('stays as it is written: %s', (written) => {
    const json = `{"resourceType":"Observation","valueQuantity":{"value":${written},"unit":"mg/dL"}}`;
    expect(through(json)).toBe(json);
    const spaced = `{ "valueQuantity" : { "value" :\n${written} } }`;
    expect(through(spaced)).toBe(`{"valueQuantity":{"value":${written}}}`);
    const kept = stored(
      JSON.parse(JSON.stringify(parseFhirJson(json))),
    ) as object;
    expect(fhirJson(kept)).toContain(`"value":${written}`);
  });

  property([
    fc.array(
      fc.tuple(
        text,
        fc.oneof(
          decimal,
          text.map((each) => JSON.stringify(each)),
        ),
      ),
      { maxLength: 6 },
    ),
  ])('stays as it is written, and so does everything else', (members) => {
    // FHIR's names of elements have letters and digits only.
    const names = members.map(
      ([name, value], index) =>
        `${index}${value.startsWith('"') ? name : name.replaceAll(/\W/g, '')}`,
    );
    const json = `{${members.map(([, value], index) => `${JSON.stringify(names[index])}:${value}`).join(',')}}`;
    fc.pre(!members.some(([name]) => name.includes('_')));
    // JSON.stringify writes -0 as 0; what is written beside a look-alike stays
    // -0.
    const read = (from: string) =>
      JSON.parse(from, (_, each) => (each === 0 ? 0 : each));
    expect(read(through(json))).toEqual(read(json));
    for (const [, value] of members)
      if (value !== '-0') expect(through(json)).toContain(value);
  });

  test.each([
    '"a": 5.00,',
    ': 5.00,',
    '": 5.00,',
    '\\"a": 5.00}',
    '"a\\": 5.00 ,',
    '\\',
    'a"',
  ])('in a text is no number, whatever the text is: %s', (text) => {
    const json = JSON.stringify({ a: text, b: [text, text], c: { a: text } });
    expect(fhirJson(parseFhirJson(json) as object)).toBe(json);
  });

  test('is a number for every step between', () => {
    expect(parseFhirJson('{"value":5.00}')).toMatchObject({ value: 5 });
    expect(parseFhirJson('{"value":5.25}')).toEqual({ value: 5.25 });
  });

  test('that a step has changed is the new one', () => {
    const { value: _, ...rest } = parseFhirJson('{"value":5.00}') as {
      value: number;
    };
    expect(fhirJson({ ...rest, value: 6 })).toBe('{"value":6}');
  });

  test('whose element has an extension of the sender is a number, and the extension stays', () => {
    const json =
      '{"value":5.00,"_value":{"extension":[{"url":"x","valueCode":"y"}]}}';
    expect(JSON.parse(through(json))).toEqual(JSON.parse(json));
  });

  test('cannot be a way to write something else into an answer', () => {
    for (const valueString of ['5,"x":1', '05', '"', '5.0.0', '}']) {
      const value = {
        value: 5,
        _value: {
          extension: [{ url: 'urn:medical-exchange:written', valueString }],
        },
      };
      expect(JSON.parse(fhirJson(value))).toEqual(value);
    }
  });

  test.each([
    ['5.00', '5.00'],
    ['+.50', '0.50'],
    ['.5', '0.5'],
    ['7.', '7'],
    ['007', '7'],
    ['-0.5', '-0.5'],
  ])('of an HL7 v2 message is JSON: %s', (sent, written) => {
    expect(fhirJson(decimalOf('value', sent))).toBe(`{"value":${written}}`);
  });
});

test('text that is no JSON is refused as JSON.parse refuses it', () => {
  for (const broken of [
    '{"a":05.00}',
    '{"a":5.00',
    '{"a":5.00,}',
    '5.00}',
    '{"a":1.}',
  ])
    expect(() => parseFhirJson(broken)).toThrow(SyntaxError);
});
