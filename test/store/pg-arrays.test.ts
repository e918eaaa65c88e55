import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, expect } from 'vitest';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { textLists } from '../../src/exchange/platform/database/pg-arrays.ts';
import { createTestStore } from '../support/postgres.ts';
import { property } from '../support/property.ts';

let store: Store;
beforeAll(async () => {
  const made = await createTestStore({ poolMax: 2 });
  store = made.store;
  return made.close;
});

/** PostgreSQL stores no NUL; what else an array's text format gives a meaning to is among them. */
const text = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('"', '\\', ',', '{', '}', ' ', '\n', 'a') }),
    fc.constantFrom('NULL', 'null', ''),
  )
  .filter((each) => !each.includes('\0'));

property([fc.array(fc.array(text, { maxLength: 5 }), { maxLength: 8 })], { numRuns: 200 })(
  'lists of texts arrive as they were sent',
  async (lists) => {
    const rows = await store.call(
      sql<{ list: string[] }>`select list::text[] as list
        from unnest(${textLists(lists)}::text[]) with ordinality as sent (list, place) order by place`,
    );
    expect(rows.map(({ list }) => list)).toEqual(lists);
  },
);
