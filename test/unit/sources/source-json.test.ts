import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSourceJson } from '../../../src/exchange/sources/connectors/http/http-response.ts';
import { anyCharacter, property } from '../../support/property.ts';

const read = (text: string) => readSourceJson(Buffer.from(text));
const nested = (levels: number, inner: string) =>
  `${'[{"a":'.repeat(levels / 2)}${inner}${'}]'.repeat(levels / 2)}`;

property({ value: fc.jsonValue({ maxDepth: 6, stringUnit: anyCharacter }) })(
  'what is not nested too deep is read as it stands',
  ({ value }) => {
    expect(read(JSON.stringify(value))).toEqual({
      isRead: true,
      json: JSON.parse(JSON.stringify(value)),
    });
  },
);

property({
  text: fc.string({ unit: fc.constantFrom('[', '{', '"', '\\', ']', 'x') }),
})('brackets count only outside of texts', ({ text }) => {
  const inner = JSON.stringify([text]);
  expect(read(nested(998, inner)).isRead).toBe(true);
  expect(read(nested(1_000, inner))).toEqual({
    isRead: false,
    fault: 'JSON nested more than 1000 levels deep',
  });
});

test('a byte order mark is no part of it', () => {
  expect(read('\uFEFF{"a":1}')).toEqual({ isRead: true, json: { a: 1 } });
});

test.each(['', '{', '"', '"\\', '[}', 'x'])('%j is broken', (text) => {
  expect(read(text)).toEqual({ isRead: false, fault: 'broken JSON' });
});

property({
  before: fc.jsonValue({ maxDepth: 4 }),
  name: fc.string(),
  inList: fc.boolean(),
})(
  'an element that is named twice in one object is found, wherever it stands and however it is written',
  ({ before, name, inList }) => {
    const escaped = [...name].map((each) =>
      each.length === 1
        ? `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`
        : each,
    );
    const object = `{${JSON.stringify(name)}:${JSON.stringify(before)},"${escaped.join('')}":1}`;
    const fault = { isRead: false, fault: 'JSON that names an element twice' };
    expect(read(inList ? `[1,${object}]` : `{"x":[],"y":${object}}`)).toEqual(
      fault,
    );
    expect(
      read(`[{${JSON.stringify(name)}:1},{${JSON.stringify(name)}:1}]`).isRead,
    ).toBe(true);
  },
);
