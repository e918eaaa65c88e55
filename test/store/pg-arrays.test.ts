import { fc, test as property } from '@fast-check/vitest';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect } from 'vitest';
import { createStore, type Store } from '../../src/exchange/platform/database/database.ts';
import { textLists } from '../../src/exchange/platform/database/pg-arrays.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  database = await createTestDatabase();
  store = createStore({ databaseUrl: database.databaseUrl, poolMax: 2 });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

/** PostgreSQL stores no NUL; what else an array's text format gives a meaning to is among them. */
const text = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('"', '\\', ',', '{', '}', ' ', '\n', 'a') }),
    fc.constantFrom('NULL', 'null', ''),
  )
  .filter((each) => !each.includes('\0'));

property.prop([fc.array(fc.array(text, { maxLength: 5 }), { maxLength: 8 })], { numRuns: 200 })(
  'lists of texts arrive as they were sent',
  async (lists) => {
    const rows = await store.call(
      sql<{ list: string[] }>`select list::text[] as list
        from unnest(${textLists(lists)}::text[]) with ordinality as sent (list, place) order by place`,
    );
    expect(rows.map(({ list }) => list)).toEqual(lists);
  },
);
