import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  comparableId,
  isSameId,
  queryLiteral,
  readCx,
  readQueryLiterals,
  withUrnOid,
  writeCx,
} from '../src/index.ts';

describe('an id', () => {
  test.each([
    ['urn:oid:1.2.3', '1.2.3'],
    [
      'urn:uuid:6FFF9294-3737-4C66-A627-CC6DD5863C42',
      'uuid:6fff9294-3737-4c66-a627-cc6dd5863c42',
    ],
    [
      'urn:uuid:a13eafb9-ec9e-46cd-9e92-9a19be79b9e8',
      'a13eafb9-ec9e-46cd-9e92-9a19be79b9e8',
    ],
    ['<d1@x>', 'd1@x'],
    [
      '{a13eafb9-ec9e-46cd-9e92-9a19be79b9e8}',
      'urn:uuid:A13EAFB9-EC9E-46CD-9E92-9A19BE79B9E8',
    ],
    [' 1.2.3 ', '1.2.3'],
  ])('is the same in either spelling: %s, %s', (left, right) => {
    expect(isSameId(left, right)).toBe(true);
  });

  test.each([
    ['1.2.3', '1.2.30'],
    ['YWJj', 'ywjj'],
    ['1.2.3', ''],
  ])('is not another: %s, %s', (left, right) => {
    expect(isSameId(left, right)).toBe(false);
  });

  test('that is base64 is compared letter for letter', () => {
    expect(comparableId('YWJj+/=')).toBe('YWJj+/=');
  });

  test('of a home community is written with urn:oid: once', () => {
    expect(withUrnOid('1.2.3')).toBe('urn:oid:1.2.3');
    expect(withUrnOid('urn:oid:1.2.3')).toBe('urn:oid:1.2.3');
  });
});

describe("a patient's id", () => {
  test('comes back as it was written, whatever characters it has', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (text) => {
        const id = text.trim();
        const written = queryLiteral(writeCx({ id, authority: '1.2.3' }));

        expect(readCx(written)).toEqual({ id, authority: '1.2.3' });
        expect(readQueryLiterals(written).map(readCx)).toEqual([
          { id, authority: '1.2.3' },
        ]);
      }),
    );
  });

  test.each([
    ["'D123401^^^&2.2&ISO'", 'D123401', '2.2'],
    ['a^b^^^&1.2&ISO', 'a^b', '1.2'],
    ['a&b^^^&1.2&ISO^PI', 'a&b', '1.2'],
    ["O'Hara^^^&1.2&ISO", "O'Hara", '1.2'],
    ['7^^&1.2&ISO', '7', '1.2'],
    ['pid1^^^domain', 'pid1', 'domain'],
    ['pid1^^^HOSP&urn:oid:1.2&ISO', 'pid1', '1.2'],
    ['bare', 'bare', ''],
  ])('is understood as gateways write it: %s', (text, id, authority) => {
    expect(readCx(text)).toEqual({ id, authority });
  });
});

describe("a stored query's values", () => {
  test.each([
    ["('a','b')", ['a', 'b']],
    ["'a'", ['a']],
    ["('Children''s')", ["Children's"]],
    ['a', ['a']],
    ['(a)', ['a']],
  ])('are all found: %s', (text, values) => {
    expect(readQueryLiterals(text)).toEqual(values);
  });
});
