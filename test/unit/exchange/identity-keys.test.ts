import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isStandInName } from '#person-matching';
import {
  type PatientDemographics,
  patientDemographicsSchema,
} from '../../../src/contract/patients.ts';
import type { Demographics } from '../../../src/exchange/people/patients/rules/demographics.ts';
import { identityKeys } from '../../../src/exchange/people/patients/rules/identity-keys.ts';
import {
  casefold,
  mergeDemographics,
  normaliseDemographics,
  normaliseText,
} from '../../../src/exchange/people/patients/rules/patient-normalisation.ts';
import { anyCharacter, property } from '../../support/property.ts';

const KEY = 'a-key-for-the-tests-of-keys';
const ACCOUNT = '0198a000-0000-7000-8000-000000000001';

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((s) => /\p{L}/u.test(s));
const name = text
  // Two keys for each zip, where an apostrophe has several spellings.
  .map((s) => s.normalize('NFKC').replaceAll(/[\s,‘’ʼ´`]/gu, ''))
  .filter(
    (s) =>
      s !== '' &&
      s.trim() !== '' &&
      !isStandInName([s], ['Smith'], '2000-02-29') &&
      !isStandInName(['Ann'], [s], '2000-02-29'),
  );
// 00000, 12345 and 99999 stand for no place.
const zip = fc
  .integer({ min: 1, max: 99_998 })
  .map((n) => String(n).padStart(5, '0'))
  .filter((each) => each !== '12345');
const address = fc.record({
  addressLine1: text,
  addressLine2: fc.option(text, { nil: undefined }),
  city: text,
  state: fc.constantFrom('MA', 'NY', 'PR'),
  zip: fc.oneof(
    zip,
    zip.map((z) => `${z}-1234`),
  ),
  country: fc.constant('USA'),
});
const contact = fc.oneof(
  fc.record({
    phone: fc.constantFrom('6175550100', '6175550101', '6175550102'),
  }),
  fc.record({
    email: fc.constantFrom('A@example.org', 'a@example.org', 'b@example.org'),
  }),
);
const demographics: fc.Arbitrary<PatientDemographics> = fc.record({
  firstName: fc.array(name, { minLength: 1, maxLength: 3 }),
  lastName: fc.array(name, { minLength: 1, maxLength: 2 }),
  dob: fc.constantFrom('1950-01-01', '2000-02-29'),
  genderAtBirth: fc.constantFrom('M', 'F', 'O', 'U'),
  address: fc.array(address, { minLength: 1, maxLength: 5 }),
  contact: fc.array(contact, { maxLength: 4 }),
});

const keysOf = (
  person: Demographics & { externalId?: string },
  account = ACCOUNT,
) => identityKeys(KEY, account, person).map((key) => key.toString('hex'));

test('a name is the same with each kind of apostrophe, and known as an earlier build knew it', () => {
  const keysOf = (family: string) => {
    const [key, ...more] = identityKeys(KEY, ACCOUNT, {
      firstNames: ['Ann'],
      lastNames: [family],
      dob: '1950-01-01',
      gender: 'F',
      addresses: [
        {
          addressLine1: '1 Main St',
          city: 'Boston',
          state: 'MA',
          zip: '02116',
          country: 'USA',
        },
      ],
    });
    return [key, ...more].map((each) => each?.toString('hex'));
  };
  const plain = keysOf("O'Connor");
  expect(plain).toHaveLength(1);
  for (const family of ['O’Connor', 'OʼConnor', 'O‘Connor']) {
    const keys = keysOf(family);
    expect(keys).toEqual(expect.arrayContaining(plain));
    expect(keys).toHaveLength(2);
    expect(keys).toEqual([...keys].sort());
  }
  expect(keysOf('OConnor')).not.toEqual(plain);
});

describe('normalising', () => {
  property([demographics])('twice is normalising once', (input) => {
    const once = normaliseDemographics(input);
    const {
      firstNames,
      lastNames,
      gender,
      addresses,
      contacts,
      personalIdentifiers,
      dob,
    } = once;
    const again = normaliseDemographics({
      firstName: firstNames,
      lastName: lastNames,
      dob,
      genderAtBirth: gender,
      address: addresses,
      contact: contacts,
      personalIdentifiers:
        personalIdentifiers as PatientDemographics['personalIdentifiers'],
    });
    expect(again).toEqual(once);
  });

  property([fc.string({ unit: anyCharacter })])(
    'leaves no blank at an end and no two in a row',
    (raw) => {
      expect(normaliseText(raw)).not.toMatch(/^\s|\s$|\s\s/u);
    },
  );

  test('keeps one of two addresses that differ in case and blanks only', () => {
    const parsed = patientDemographicsSchema.parse({
      firstName: 'A',
      lastName: 'B',
      dob: '1980-01-01',
      genderAtBirth: 'U',
      address: [
        {
          addressLine1: '1  Main St',
          city: 'Boston',
          state: 'MA',
          zip: '02108',
        },
        {
          addressLine1: '1 MAIN ST ',
          city: 'boston',
          state: 'ma',
          zip: '02108',
          country: 'US',
        },
      ],
    });
    expect(normaliseDemographics(parsed).addresses).toHaveLength(1);
  });

  test.each([
    ['Müller', 'MÜLLER'],
    ['Mu\u0308ller', 'Müller'],
    ['Straße', 'STRASSE'],
    ['ΣΊΣΥΦΟΣ', 'σίσυφος'],
  ])('compares %s and %s as equal', (one, other) => {
    expect(casefold(one)).toBe(casefold(other));
  });
});

describe('identity keys', () => {
  property([demographics])(
    'are one for each five-digit zip, in one order for everybody',
    (input) => {
      const person = normaliseDemographics(input);
      const keys = keysOf(person);
      expect(keys).toHaveLength(
        new Set(person.addresses.map((a) => a.zip.slice(0, 5))).size,
      );
      expect(keys).toEqual([...keys].sort());
      expect(
        keysOf({ ...person, addresses: [...person.addresses].reverse() }),
      ).toEqual(keys);
    },
  );

  property([demographics, zip])(
    'are in common exactly when a zip is',
    (input, otherZip) => {
      const person = normaliseDemographics(input);
      const elsewhere = {
        ...person,
        addresses: [{ ...person.addresses[0], zip: otherZip }],
      } as Demographics;
      const shared = keysOf(elsewhere).some((key) =>
        keysOf(person).includes(key),
      );
      expect(shared).toBe(
        person.addresses.some((a) => a.zip.startsWith(otherZip)),
      );
    },
  );

  property([demographics])(
    'know no case, and know the order of names',
    (input) => {
      const person = normaliseDemographics(input);
      const loud = {
        ...person,
        lastNames: person.lastNames.map((n) => n.toUpperCase()),
      };
      expect(keysOf(loud)).toEqual(keysOf(person));
      const reversed = {
        ...person,
        firstNames: [...person.firstNames].reverse(),
      };
      const same =
        reversed.firstNames.map(casefold).join('\0') ===
        person.firstNames.map(casefold).join('\0');
      expect(keysOf(reversed)[0] === keysOf(person)[0]).toBe(same);
    },
  );

  test('of a name, birth date or zip that stands for many need the caller’s own id', () => {
    const usual = normaliseDemographics({
      firstName: ['Ann'],
      lastName: ['Kim'],
      dob: '1980-03-04',
      genderAtBirth: 'F',
      address: [
        {
          addressLine1: '1',
          city: 'B',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      ],
    });
    const anybody = [
      {
        firstNames: ['Baby', 'Girl'],
        dob: `${new Date().getUTCFullYear()}-01-14`,
      },
      { firstNames: ['Jane'], lastNames: ['Doe'] },
      { dob: '1900-01-01' },
      {
        addresses: usual.addresses.map((address) => ({
          ...address,
          zip: '99999',
        })),
      },
    ];
    for (const change of anybody) {
      const person = { ...usual, ...change };
      expect(keysOf(person)).toEqual([]);
      const [one, same, other] = ['a', 'a', 'b'].map((externalId) =>
        keysOf({ ...person, externalId }),
      );
      expect(one).toHaveLength(1);
      expect(one).toEqual(same);
      expect(one).not.toEqual(other);
    }
    expect(keysOf({ ...usual, externalId: 'a' })).toEqual(keysOf(usual));
  });

  test('do not confuse where one name ends and the next begins', () => {
    const base = normaliseDemographics({
      firstName: ['Ann', 'Lee'],
      lastName: ['Kim'],
      dob: '1980-01-01',
      genderAtBirth: 'F',
      address: [
        {
          addressLine1: '1',
          city: 'B',
          state: 'MA',
          zip: '02108',
          country: 'USA',
        },
      ],
    });
    for (const other of [
      { firstNames: ['AnnLee'] },
      { firstNames: ['Ann'], lastNames: ['Lee', 'Kim'] },
      { dob: '1980-01-10' },
      { gender: 'M' as const },
    ]) {
      expect(keysOf({ ...base, ...other })).not.toEqual(keysOf(base));
    }
    expect(keysOf(base, '0198a000-0000-7000-8000-000000000002')).not.toEqual(
      keysOf(base),
    );
  });
});

describe('merging', () => {
  property([demographics, demographics])(
    'puts the new first and loses nothing that is known',
    (a, b) => {
      const known = normaliseDemographics(a);
      const update = normaliseDemographics(b);
      const merged = mergeDemographics(known, update);
      expect(merged.addresses.slice(0, update.addresses.length)).toEqual(
        update.addresses,
      );
      const lines = (list: Demographics['addresses']) =>
        list.map((x) => casefold(x.addressLine1) + x.zip);
      expect(lines(merged.addresses)).toEqual(
        expect.arrayContaining(lines(known.addresses)),
      );
      expect(mergeDemographics(merged, update)).toEqual(merged);
    },
  );
});
