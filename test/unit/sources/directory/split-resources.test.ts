import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createSplitter,
  type SplitItem,
} from '../../../../src/exchange/sources/directory/rules/split-resources.ts';
import { property } from '../../../support/property.ts';

function split(bytes: Buffer, sizes: readonly number[] = []) {
  const splitter = createSplitter();
  const items: SplitItem[] = [];
  let from = 0;
  for (const size of [...sizes, bytes.length]) {
    items.push(...splitter.push(bytes.subarray(from, from + size)));
    from += size;
  }
  items.push(...splitter.end());
  return { items, isCut: splitter.isCut, around: splitter.around };
}

const texts = (items: readonly SplitItem[]): unknown[] =>
  items.map((item) => ('text' in item ? JSON.parse(item.text) : item));

const resource = fc.record({
  resourceType: fc.constant('Organization'),
  id: fc.string({ unit: 'grapheme' }),
  name: fc.string({ unit: 'binary' }),
  list: fc.array(fc.oneof(fc.double(), fc.string(), fc.constant('"entry": ['))),
});
const resources = fc.array(resource, { minLength: 1, maxLength: 20 });
const sizes = fc.array(fc.nat(70_000), { maxLength: 20 });

describe('what a directory is delivered as', () => {
  property([resources, sizes, fc.constantFrom(0, 2)])(
    'a Bundle in any chunks gives its entries',
    (given, chunks, indent) => {
      const bundle = {
        resourceType: 'Bundle',
        link: [{ relation: 'next', url: 'https://directory.example/2' }],
        entry: given,
        total: 3,
      };
      const bytes = Buffer.from(JSON.stringify(bundle, null, indent));
      const { items, isCut, around } = split(bytes, chunks);
      expect(texts(items)).toEqual(JSON.parse(JSON.stringify(given)));
      expect(isCut).toBe(false);
      expect(JSON.parse(around ?? '')).toEqual({ ...bundle, entry: [] });
    },
  );

  property([resources, sizes])(
    'lines in any chunks give their resources',
    (given, chunks) => {
      const lines = given.map((each) => JSON.stringify(each)).join('\r\n');
      const { items } = split(Buffer.from(lines), chunks);
      expect(texts(items)).toEqual(JSON.parse(JSON.stringify(given)));
    },
  );

  test('a list, a single resource and a byte order mark are read as well', () => {
    const list = '[{"a":1}, {"b":2}]';
    expect(texts(split(Buffer.from(list)).items)).toEqual([{ a: 1 }, { b: 2 }]);
    const single = '\uFEFF{"resourceType":"Organization",\n"id":"1"}';
    expect(texts(split(Buffer.from(single)).items)).toEqual([
      { resourceType: 'Organization', id: '1' },
    ]);
  });

  test('a broken resource spoils only itself', () => {
    const bundle =
      '{"resourceType":"Bundle","entry":[{"a":1},null,{"b":,},"x",{"c":3}]}';
    expect(split(Buffer.from(bundle)).items).toEqual([
      { text: '{"a":1}' },
      { fault: 'is no resource' },
      { text: '{"b":,}' },
      { fault: 'is no resource' },
      { text: '{"c":3}' },
    ]);
    const lines = '{"a":1}\n{"b":\n{"c":3}\n';
    expect(split(Buffer.from(lines)).items).toHaveLength(3);
  });

  test('a Bundle that ends in the middle is known as such', () => {
    const bundle = '{"resourceType":"Bundle","entry":[{"a":1},{"b":';
    expect(split(Buffer.from(bundle))).toMatchObject({
      isCut: true,
      items: [
        { text: '{"a":1}' },
        { fault: 'ends in the middle of a resource' },
      ],
    });
  });

  test('a resource that is too large is left out, and the next one is read', () => {
    const large = JSON.stringify({ name: 'x'.repeat(1_100_000) });
    const bundle = `{"resourceType":"Bundle","entry":[${large},{"b":2}]}`;
    expect(split(Buffer.from(bundle)).items).toEqual([
      { fault: 'is larger than 1 MB' },
      { text: '{"b":2}' },
    ]);
  });
});
