import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import type { Patient } from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { comparePersons } from '../../../src/exchange/people/patients/rules/compare-persons.ts';
import type { Demographics } from '../../../src/exchange/people/patients/rules/demographics.ts';
import { identityKeys } from '../../../src/exchange/people/patients/rules/identity-keys.ts';
import {
  gradeMatch,
  MATCH_RULES_VERSION,
  type MatchGrade,
} from '../../../src/exchange/people/patients/rules/match-score.ts';
import { describesPerson } from '../../../src/exchange/people/patients/rules/patient-matching.ts';
import {
  traitsOf,
  traitsOfPatient,
} from '../../../src/exchange/people/patients/rules/person-traits.ts';
import {
  isDateMistyped,
  isOneEditApart,
  mistypedDates,
} from '../../../src/exchange/people/patients/rules/typing-errors.ts';
import { property } from '../../support/property.ts';

/** Every day of a year. */
const daysOf = (year: number): string[] =>
  Array.from({ length: 366 }, (_, day) => new Date(Date.UTC(year, 0, day + 1)))
    .filter((date) => date.getUTCFullYear() === year)
    .map((date) => date.toISOString().slice(0, 10));

const home = {
  addressLine1: '12 Elm St',
  city: 'Boston',
  state: 'MA',
  zip: '02115',
  country: 'USA',
};
const away = {
  addressLine1: '9 Oak Ave',
  city: 'Denver',
  state: 'CO',
  zip: '80202',
  country: 'USA',
};
const ada: Demographics = {
  firstNames: ['Adelaide'],
  lastNames: ['Lovelace'],
  dob: '1985-12-10',
  gender: 'F',
  addresses: [home],
  contacts: [{ phone: '6175550100', email: 'ada@example.org' }],
  personalIdentifiers: [{ type: 'ssn', value: '512345671' }],
};
/**
 * Another description of Ada that shares only name, date of birth and gender
 * with the one above.
 */
const bare: Demographics = {
  ...ada,
  addresses: [away],
  contacts: [],
  personalIdentifiers: [],
};
const grade = (change: Partial<Demographics>, from = bare) =>
  gradeMatch(comparePersons(traitsOf(ada), traitsOf({ ...from, ...change })));

describe('the levels of the Identity Matching guide', () => {
  test.each<[string, Partial<Demographics>, string, number, string]>([
    [
      'SSN',
      { personalIdentifiers: ada.personalIdentifiers },
      'best',
      0.99,
      'certain',
    ],
    ['street and zip', { addresses: [home] }, 'superior', 0.8, 'certain'],
    [
      'street, city and state',
      { addresses: [{ ...home, zip: '02116' }] },
      'superior',
      0.8,
      'certain',
    ],
    [
      'e-mail',
      { contacts: [{ email: 'Ada@example.org' }] },
      'superior',
      0.8,
      'certain',
    ],
    [
      'phone',
      { contacts: [{ phone: '6175550100' }] },
      'very-good',
      0.7,
      'certain',
    ],
    [
      'zip',
      { addresses: [{ ...away, zip: '02115-1234' }] },
      'very-good',
      0.7,
      'certain',
    ],
    ['nothing else', {}, 'good', 0.6, 'probable'],
  ])(
    'name, date of birth, gender and %s',
    (_, change, quality, score, expected) => {
      expect(grade(change)).toEqual({ grade: expected, score, quality });
    },
  );

  test('a gender that contradicts makes any match one for a person to decide', () => {
    expect(grade({ gender: 'M' }, ada)).toEqual({
      grade: 'probable',
      score: 0.99,
      quality: 'best',
    });
    expect(grade({ gender: 'U' }, ada).grade).toBe('certain');
    expect(
      grade({ gender: 'M', addresses: [{ ...away, zip: '02115' }] }),
    ).toMatchObject({ score: 0.6 });
  });
});

describe('certain in spite of an error', () => {
  test.each<[string, Partial<Demographics>]>([
    ['a letter of the last name', { lastNames: ['Lovlace'] }],
    ['a digit of the birth date', { dob: '1985-12-11' }],
    ['day and month exchanged', { dob: '1985-10-12' }],
  ])('%s, for which the household or an SSN makes up', (_, change) => {
    const contact = { ...change, contacts: ada.contacts };
    expect(grade(change, ada)).toEqual({ grade: 'certain', score: 0.7 });
    expect(grade(contact)).toEqual({ grade: 'certain', score: 0.7 });
    expect(
      grade({ ...change, addresses: [{ ...away, zip: home.zip }] }).grade,
    ).toBe('possible');
  });

  test('one thing of the household is not enough for another birthday', () => {
    const [phone] = ada.contacts;
    const contacts = [{ phone: phone?.phone ?? '' }];
    expect(grade({ dob: '1985-12-11', contacts }).grade).toBe('possible');
  });

  test('but never another year of birth, by which father and son differ, not even by an SSN', () => {
    for (const dob of ['1955-12-10', '1958-12-10'])
      expect(grade({ dob }, ada).grade).toBe('possible');
    for (const change of [{ dob: '1986-12-10' }, { dob: '1984-12-10' }]) {
      expect(grade({ ...change, personalIdentifiers: [] }, ada).grade).toBe(
        'possible',
      );
      expect(grade(change, ada).grade).toBe('certain');
    }
  });

  test('a mistyped address, in the zip or in the town', () => {
    const change = { contacts: [], personalIdentifiers: [] };
    const at = (address: Partial<typeof home>) =>
      gradeMatch(
        comparePersons(
          traitsOf({
            ...ada,
            addresses: [{ ...home, addressLine1: '202 Delaware Cir' }],
          }),
          traitsOf({
            ...ada,
            ...change,
            addresses: [
              { ...home, addressLine1: '202 Delaware Cir', ...address },
            ],
          }),
        ),
      ).grade;
    expect(at({ addressLine1: '0202 Felaware Cir', zip: '02151' })).toBe(
      'certain',
    );
    expect(
      at({
        addressLine1: '202 Delaware Cir Apt 4',
        city: 'Bostn',
        zip: '99999',
      }),
    ).toBe('certain');
    expect(at({ addressLine1: '203 Delaware Cir', zip: '02151' })).toBe(
      'probable',
    );
    expect(at({ addressLine1: '202 Lincoln Cir', zip: '02151' })).toBe(
      'probable',
    );
    expect(at({ city: 'Denver', zip: '80202' })).toBe('probable');
  });

  test('an SSN of exchanged digits contradicts nothing; one of another digit does, because those of twins follow each other', () => {
    const ssn = (value: string) => ({
      personalIdentifiers: [{ type: 'ssn' as const, value }],
    });
    expect(grade(ssn('512345617'), ada).grade).toBe('certain');
    expect(
      grade({ ...ssn('512345617'), firstNames: ['Adealide'] }, ada).grade,
    ).toBe('certain');
    expect(grade({ ...ssn('512345617'), firstNames: ['Adealide'] }).grade).toBe(
      'possible',
    );
    expect(grade(ssn('512345672'), ada).grade).toBe('probable');
  });
});

describe('certain by an identifier, which a household is not', () => {
  const identifiers = ada.personalIdentifiers;
  test.each<[string, Partial<Demographics>]>([
    ['letters exchanged in the first name', { firstNames: ['Adealide'] }],
    ['an initial', { firstNames: ['A'] }],
    [
      'a letter of the last name and a digit of the birth date',
      { lastNames: ['Lovlace'], dob: '1985-12-11' },
    ],
    ['a new last name', { lastNames: ['Green'] }],
  ])('%s', (_, change) => {
    expect(grade({ ...change, personalIdentifiers: identifiers }).grade).toBe(
      'certain',
    );
    expect(
      grade({
        ...change,
        personalIdentifiers: [],
        contacts: [{ phone: '6175550100' }],
      }).grade,
    ).not.toBe('certain');
  });

  test('nor a nickname, unless twins may be called so', () => {
    const named = (left: string, right: string) =>
      gradeMatch(
        comparePersons(
          traitsOf({ ...ada, firstNames: [left] }),
          traitsOf({ ...ada, firstNames: [right] }),
        ),
      ).grade;
    expect(named('Robert', 'Bob')).toBe('certain');
    expect(named('Christina', 'Christine')).toBe('possible');
    expect(named('Anna', 'Hanna')).toBe('possible');
  });

  test('nor a new last name by anything that a household shares', () => {
    const change = { lastNames: ['Green'], personalIdentifiers: [] };
    expect(grade({ ...ada, ...change }).grade).toBe('possible');
    expect(grade({ ...change, addresses: [home] }).grade).toBe('possible');
  });

  test('nor anything by the address of an institution, beside the zip', () => {
    const at = (addressLine1: string) => {
      const born = {
        ...ada,
        dob: '1985-01-01',
        contacts: [],
        personalIdentifiers: [],
        addresses: [{ ...home, addressLine1 }],
      };
      return gradeMatch(comparePersons(traitsOf(born), traitsOf(born))).grade;
    };
    for (const line of [
      'General Delivery',
      '100 Rescue Mission',
      'County Jail, 5 Oak St',
      '7 Smith Barracks',
      '12 Elm Nursing Home',
    ])
      expect(at(line), line).toBe('probable');
    for (const line of ['12 Elm St', '9 Campus Drive', '3 Prison Road'])
      expect(at(line), line).toBe('certain');
  });

  test('nor names of adults that look like those of newborns, which are names', () => {
    const named = (firstName: string) => {
      const person = { ...ada, firstNames: [firstName] };
      return gradeMatch(comparePersons(traitsOf(person), traitsOf(person)))
        .grade;
    };
    for (const name of [
      'Jimboy',
      'Sonnyboy',
      'Babylyn',
      'Marygirl',
      'Xxochitl',
    ])
      expect(named(name), name).toBe('certain');
    for (const name of ['Girl1', 'Mariasgirl1', 'Babyboy', 'RN', 'Marias Boy'])
      expect(named(name), name).not.toBe('certain');
  });
});

describe('possible, if an error or a new last name is assumed', () => {
  test.each<[string, Partial<Demographics>]>([
    [
      'letters exchanged in the first name',
      { firstNames: ['Adealide'], personalIdentifiers: [] },
    ],
    ['a letter left out of the first name', { firstNames: ['Adelade'] }],
    [
      'first and last name exchanged',
      { firstNames: ['Lovelace'], lastNames: ['Adelaide'] },
    ],
    [
      'a letter of the last name and a digit of the birth date',
      { lastNames: ['Lovlace'], dob: '1985-12-11', personalIdentifiers: [] },
    ],
    [
      'another last name',
      { lastNames: ['King'], personalIdentifiers: [], contacts: [] },
    ],
    ['a nickname', { firstNames: ['Addie'], personalIdentifiers: [] }],
    [
      'the birth date two months off',
      { dob: '1985-09-10', personalIdentifiers: [] },
    ],
    ['no birth date', { dob: '1900-01-01', personalIdentifiers: [] }],
    ['another first name, with the same SSN', { firstNames: ['Beatrice'] }],
    ['another birth date, with the same SSN', { dob: '1990-01-31' }],
  ])('%s', (_, change) => {
    expect(grade(change, ada)).toEqual({ grade: 'possible', score: 0.5 });
  });

  test('without anything else in common, one error is assumed in names of one birth date, and none in the date', () => {
    for (const change of [
      { lastNames: ['Lovlace'] },
      { firstNames: ['Adealide'] },
    ])
      expect(grade(change).grade).toBe('possible');
    for (const change of [
      { dob: '1985-12-11' },
      { lastNames: ['King'] },
      { firstNames: ['Adelaida'] },
    ])
      expect(grade(change).grade).toBe('certainly-not');
  });

  test('twins share birth date, last name, address and phone, and are two', () => {
    const twin = {
      personalIdentifiers: [{ type: 'ssn' as const, value: '623456782' }],
    };
    expect(grade({ firstNames: ['Beatrice'], ...twin }, ada).grade).toBe(
      'certainly-not',
    );
    // So alike that a person has to look.
    expect(grade({ firstNames: ['Adelaida'], ...twin }, ada).grade).toBe(
      'possible',
    );
    // One letter of a short name is not an error.
    const [jon, jan] = ['Jon', 'Jan'].map((name) =>
      traitsOf({
        ...ada,
        ...twin,
        firstNames: [name],
        personalIdentifiers: [],
      }),
    );
    expect(jon && jan && gradeMatch(comparePersons(jon, jan)).grade).toBe(
      'certainly-not',
    );
  });
});

describe('typing errors', () => {
  property([fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 })])(
    'are found in either direction, and never in equal texts',
    (left, right) => {
      expect(isOneEditApart(left, right)).toBe(isOneEditApart(right, left));
      expect(isOneEditApart(left, left)).toBe(false);
    },
  );

  property([
    fc.array(fc.constantFrom<'a' | 'b' | 'c' | 'd'>('a', 'b', 'c'), {
      maxLength: 6,
    }),
    fc.nat(),
    fc.constantFrom<'a' | 'd'>('a', 'd'),
  ])(
    'a letter added, left out or replaced is one, and so are exchanged neighbours',
    (letters, position, letter) => {
      const at = position % (letters.length + 1);
      const text = letters.join('');
      const added = letters.toSpliced(at, 0, letter).join('');
      const replaced = letters.toSpliced(at, 1, letter).join('');
      const exchanged = [
        ...letters.slice(0, at),
        ...letters.slice(at, at + 2).reverse(),
        ...letters.slice(at + 2),
      ];
      expect(isOneEditApart(text, added)).toBe(true);
      for (const changed of [replaced, exchanged.join('')])
        expect(isOneEditApart(text, changed)).toBe(changed !== text);
    },
  );

  test.each([
    ['abcd', 'abdc', true],
    ['abcd', 'badc', false],
    ['abcd', 'abxy', false],
    ['abc', 'abcde', false],
  ])('%s and %s: %s', (left, right, expected) =>
    expect(isOneEditApart(left, right)).toBe(expected),
  );

  const days = Array.from({ length: 301 }, (_, index) =>
    daysOf(1850 + index),
  ).flat();
  property([fc.constantFrom(...days)], {
    numRuns: 10,
    examples: [['2000-01-08'], ['2000-02-29']],
  })(
    'all mistyped forms of a date are listed, as far as the calendar has them',
    (date) => {
      expect(mistypedDates(date).sort()).toEqual(
        days.filter((other) => isDateMistyped(date, other)),
      );
    },
  );

  test('partial dates have none', () => {
    expect(isDateMistyped('1985-12', '1985-11')).toBe(false);
    expect(isDateMistyped('1985-12-10', '1985-12')).toBe(false);
  });
});

/**
 * Mostly the same value, so that most pairs agree in most things and each
 * condition decides some of them.
 */
const mostly = <T>(usual: T, others: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: others },
  );
const names = mostly(
  ['Ada'],
  fc.subarray(
    [
      'Ada',
      'Mary Ann',
      "O'Brien",
      'O’Brien',
      'Núñez',
      'Garcia-Lopez',
      'Lopez',
      'Adda',
    ],
    {
      minLength: 1,
      maxLength: 2,
    },
  ),
);
const dob = mostly('1985-12-10', fc.constantFrom('1985-10-12', '1990-01-31'));
const zip = fc.constantFrom('02115', '02115-1234', '80202');
const phone = fc.constantFrom('6175550100', '3035550199');
const identifier = fc.constantFrom(
  { type: 'ssn' as const, value: '512345671' },
  { type: 'driversLicense' as const, value: 'S-123 456', state: 'MA' },
);
const person: fc.Arbitrary<Demographics> = fc.record({
  firstNames: names,
  lastNames: names,
  dob,
  gender: mostly('F', fc.constantFrom('M', 'O', 'U')),
  addresses: fc.array(
    zip.map((each) => ({ ...home, zip: each })),
    { minLength: 1, maxLength: 2 },
  ),
  contacts: fc.array(
    phone.map((each) => ({ phone: each })),
    { maxLength: 2 },
  ),
  personalIdentifiers: fc.array(identifier, { maxLength: 2 }),
});
const optional = <T>(value: fc.Arbitrary<T>) =>
  fc.option(value, { nil: undefined });
const patient = fc.record({
  resourceType: fc.constant('Patient' as const),
  name: fc.oneof(
    fc.constant([{ family: 'Ada', given: ['Ada'] }]),
    fc.array(
      fc.record(
        {
          family: names.map((all) => all.join(' ')),
          given: names,
          text: fc.constantFrom('Ada Lopez', 'Lopez'),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 2 },
    ),
  ),
  birthDate: fc.oneof(
    { weight: 5, arbitrary: dob },
    fc.constantFrom('1985', undefined),
  ),
  gender: mostly(
    'female',
    fc.constantFrom('male', 'other', 'unknown', undefined),
  ),
  address: optional(
    fc.array(fc.record({ postalCode: optional(zip) }), { maxLength: 2 }),
  ),
  telecom: optional(
    fc.array(
      fc.record({
        system: fc.constantFrom('phone', 'sms', 'fax', 'email', undefined),
        value: fc.oneof(
          phone,
          fc.constantFrom('+1 (617) 555-0100', '617-555-0100 x12'),
        ),
      }),
      { maxLength: 2 },
    ),
  ),
  identifier: optional(
    fc.array(
      fc.record({
        system: fc.constantFrom(
          'http://hl7.org/fhir/sid/us-ssn',
          'urn:oid:2.16.840.1.113883.4.3.25',
          undefined,
        ),
        type: optional(
          fc.constantFrom(
            { coding: [{ code: 'SS' }] },
            { coding: [{ code: 'DL' }] },
          ),
        ),
        value: fc.constantFrom(
          '512-34-5671',
          '***-**-5671',
          'S123456',
          'S***123456',
          undefined,
        ),
      }),
      { maxLength: 2 },
    ),
  ),
}) as fc.Arbitrary<Patient>;

const RANK: Record<MatchGrade, number> = {
  certain: 3,
  probable: 2,
  possible: 1,
  'certainly-not': 0,
};
const gradeOf = (left: Demographics, right: Demographics) =>
  gradeMatch(comparePersons(traitsOf(left), traitsOf(right)));

describe('what is accepted without a person', () => {
  property([person, patient], { numRuns: 500 })(
    'has the same birth date within the year, no other gender, and something in common beside names',
    (ours, theirs) => {
      if (!describesPerson(ours, theirs)) return;
      expect(
        Math.abs(
          Number(theirs.birthDate?.slice(0, 4)) - Number(ours.dob.slice(0, 4)),
        ),
      ).toBeLessThan(3);
      const compared = comparePersons(traitsOf(ours), traitsOfPatient(theirs));
      expect(compared.contradicts).toEqual([]);
      if (!compared.ssn && !compared.licence)
        expect(compared.firstName).toBe('same');
      expect(compared.gender).not.toBe('different');
      const { zip, street, phone, email, ssn, licence } = compared;
      expect([zip, street, phone, email, ssn, licence]).toContain(true);
    },
  );

  property([person, person], { numRuns: 500 })(
    'includes everybody whom creating a patient matches, at least as very good',
    (left, right) => {
      const hex = (each: Demographics) =>
        identityKeys('k', 'account', each).map((key) => key.toString('hex'));
      const keys = new Set(hex(left));
      if (!hex(right).some((key) => keys.has(key))) return;
      const match = gradeOf(left, right);
      expect(match.grade).toBe('certain');
      expect(match.score).toBeGreaterThanOrEqual(0.7);
    },
  );

  property([person, person])(
    'does not depend on which description comes first',
    (left, right) => {
      const ours = traitsOf(left);
      const theirs = traitsOf(right);
      expect(gradeMatch(comparePersons(ours, theirs))).toEqual(
        gradeMatch(comparePersons(theirs, ours)),
      );
    },
  );

  property([person, person], { numRuns: 300 })(
    'never has another first name, whatever a household shares',
    (left, right) => {
      const shared = {
        addresses: left.addresses,
        contacts: [...left.contacts, { email: 'home@example.org' }],
      };
      const other = { ...right, ...shared, firstNames: ['Beatrice'] };
      expect(
        gradeOf({ ...left, contacts: shared.contacts }, other).grade,
      ).not.toBe('certain');
    },
  );

  property([person, person], { numRuns: 300 })(
    'a contradiction never raises a grade',
    (left, right) => {
      const before = RANK[gradeOf(left, right).grade];
      const [ours, theirs] = ['512345671', '623456782'].map((value) => [
        { type: 'ssn' as const, value },
      ]);
      const without = ({ personalIdentifiers }: Demographics) =>
        personalIdentifiers.filter(({ type }) => type !== 'ssn');
      const contradicted: Array<[Demographics, Demographics]> = [
        [
          { ...left, personalIdentifiers: [...without(left), ...(ours ?? [])] },
          {
            ...right,
            personalIdentifiers: [...without(right), ...(theirs ?? [])],
          },
        ],
        [
          { ...left, lastNames: [...left.lastNames, 'Sr'] },
          { ...right, lastNames: [...right.lastNames, 'Jr'] },
        ],
        [
          { ...left, gender: 'M' as const },
          { ...right, gender: 'F' as const },
        ],
      ];
      for (const [one, other] of contradicted) {
        const after = gradeOf(one, other).grade;
        expect(RANK[after]).toBeLessThanOrEqual(before);
        expect(after).not.toBe('certain');
      }
    },
  );
});

test('docs/matching.md describes the version of the rules', () => {
  expect(readFileSync('docs/matching.md', 'utf8')).toContain(
    `Rules version ${MATCH_RULES_VERSION} (`,
  );
});
