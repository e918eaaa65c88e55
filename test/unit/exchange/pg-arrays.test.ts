import fc from 'fast-check';
import { expect, test } from 'vitest';
import { uuidArray } from '../../../src/exchange/platform/database/pg-arrays.ts';

const HEADER_AND_LENGTH_BYTES = 24;

test('ids are written as their bytes, in either case', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.boolean(), (id, isUpper) => {
      const array = uuidArray([isUpper ? id.toUpperCase() : id]);
      expect(array.subarray(HEADER_AND_LENGTH_BYTES).toString('hex')).toBe(
        id.replaceAll('-', ''),
      );
    }),
  );
});

test.each([
  '',
  '01890a5d-ac96-774b-bcce-b302099a805',
  '01890a5d-ac96-774b-bcce-b302099a805g',
  '0189é'.repeat(9).slice(0, 36),
])(
  'what is no id is refused instead of being written as another: %s',
  (text) => {
    expect(() => uuidArray([text])).toThrow('An id must be a UUID');
  },
);
