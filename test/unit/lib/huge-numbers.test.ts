import { expect, test } from 'vitest';
import { hugeNumberIn } from '../../../src/lib/huge-numbers.ts';

test.each([
  ['1e400', ''],
  ['{"a":[{"b":1},{"b":-1E+999}]}', 'a[1].b'],
  [`[0,${'9'.repeat(400)}]`, '[1]'],
  ['{"a":"1e400","b":1e300}', undefined],
  ['{"a":1}', undefined],
])(
  'a number that nobody can store is found where it stands: %s',
  (text, path) => {
    expect(hugeNumberIn(text, JSON.parse(text))).toBe(path);
  },
);
