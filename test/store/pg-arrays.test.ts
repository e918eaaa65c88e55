import fc from 'fast-check';
import { sql } from 'kysely';
import { expect } from 'vitest';
import { textLists } from '../../src/exchange/platform/database/pg-arrays.ts';
import { storeTest as test } from '../support/fixtures.ts';
import { propertyOf } from '../support/property.ts';

/**
 * PostgreSQL stores no NUL; what else an array's text format gives a meaning to
 * is among them.
 */
const text = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({
      unit: fc.constantFrom('"', '\\', ',', '{', '}', ' ', '\n', 'a'),
    }),
    fc.constantFrom('NULL', 'null', ''),
  )
  .filter((each) => !each.includes('\0'));

const lists = propertyOf(
  [fc.array(fc.array(text, { maxLength: 5 }), { maxLength: 8 })],
  { numRuns: 200 },
);
test(
  lists.named('lists of texts arrive as they were sent'),
  async ({ store }) =>
    lists.holds(async (sent) => {
      const rows = await store.call(
        sql<{ list: string[] }>`select list::text[] as list
        from unnest(${textLists(sent)}::text[]) with ordinality as sent (list, place) order by place`,
      );
      expect(rows.map(({ list }) => list)).toEqual(sent);
    }),
);
