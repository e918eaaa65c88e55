import { sql } from 'kysely';
import { expect } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import {
  noteHouseholds,
  sharedAmong,
} from '../../src/exchange/people/households/shared-values.ts';
import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { storeTest as test } from '../support/fixtures.ts';

const CAMPUS = '1 College Green';

function resident(
  number: number,
  lastName: string,
  flat?: number,
): Demographics {
  return {
    firstNames: ['Ada'],
    lastNames: [lastName],
    dob: '1985-12-10',
    gender: 'F',
    addresses: [
      {
        addressLine1: CAMPUS,
        ...(flat === undefined ? {} : { addressLine2: `Apt ${flat}` }),
        city: 'Boston',
        state: 'MA',
        zip: '02115',
        country: 'USA',
      },
    ],
    contacts: [{ phone: '6172000100', email: `ada${number}@example.org` }],
    personalIdentifiers: [],
  };
}

/** Houses so many patients of different last names at one address. */
async function houseOf(
  store: Store,
  lastNames: readonly string[],
  hasFlats = false,
) {
  const accountId = crypto.randomUUID();
  await store.asSystem((tx) =>
    insertAccount(tx, { id: accountId, name: 'Test', settings: {} }),
  );
  await store.asAccount(accountId, async (tx) => {
    for (const [number, lastName] of lastNames.entries()) {
      const person = resident(number, lastName, hasFlats ? number : undefined);
      const id = crypto.randomUUID();
      await tx.db
        .insertInto('patient')
        .values({
          id,
          account_id: accountId,
          first_names: [...person.firstNames],
          last_names: [...person.lastNames],
          dob: person.dob,
          gender: person.gender,
          addresses: JSON.stringify(person.addresses),
          contacts: JSON.stringify(person.contacts),
          facility_ids: [],
        } as never)
        .execute();
      await noteHouseholds(tx, [{ ...person, id, accountId }]);
    }
  });
  return {
    accountId,
    shared: () =>
      store.asAccount(accountId, (tx) =>
        sharedAmong(
          tx,
          accountId,
          resident(0, 'Lovelace', hasFlats ? 0 : undefined),
          [],
        ),
      ),
  };
}

const NAMES = ['Lovelace', 'Byron', 'King', 'Milbanke', 'Noel', 'Babbage'];

test('an address and a phone that six last names of an account have are shared, an e-mail address of one is not', async ({
  store,
}) => {
  const { shared } = await houseOf(store, NAMES);
  expect([...(await shared())].sort()).toEqual([
    '1 college green|02115#',
    '1 college green|boston|ma#',
    '6172000100',
  ]);
});

test('flats of a house are households, with a landlord’s phone', async ({
  store,
}) => {
  const { shared } = await houseOf(store, NAMES, true);
  expect(await shared()).toEqual(new Set(['6172000100']));
});

test('five last names are a household, however many people it has', async ({
  store,
}) => {
  const { shared } = await houseOf(store, [
    ...NAMES.slice(0, 5),
    ...NAMES.slice(0, 5),
  ]);
  expect(await shared()).toEqual(new Set());
});

test('what is shared is forgotten with the patients, and is an account’s own', async ({
  store,
}) => {
  const campus = await houseOf(store, NAMES);
  const other = await houseOf(store, ['Lovelace']);
  expect(await other.shared()).toEqual(new Set());
  await store.asAccount(campus.accountId, (tx) =>
    sql`delete from patient where last_names = '{Babbage}'`.execute(tx.db),
  );
  expect(await campus.shared()).toEqual(new Set());
});
