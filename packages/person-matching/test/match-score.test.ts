import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PersonDemographics } from '../src/index.ts';
import {
  comparePersons,
  describesPerson,
  gradeMatch,
  type MatchGrade,
  traitsOfPatient,
  traitsOfPerson,
} from '../src/index.ts';
import {
  isDateMistyped,
  isOneEditApart,
  mistypedDates,
} from '../src/typing-errors.ts';
import { anyPatient, anyPerson } from './any-person.ts';

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
const ada: PersonDemographics = {
  firstNames: ['Adelaide'],
  lastNames: ['Lovelace'],
  dob: '1985-12-10',
  gender: 'F',
  addresses: [home],
  contacts: [{ phone: '6172000100', email: 'ada@example.org' }],
  personalIdentifiers: [{ type: 'ssn', value: '512345671' }],
};
/**
 * Another description of Ada that shares only name, date of birth and gender
 * with the one above.
 */
const bare: PersonDemographics = {
  ...ada,
  addresses: [away],
  contacts: [],
  personalIdentifiers: [],
};
const grade = (change: Partial<PersonDemographics>, from = bare) =>
  gradeMatch(
    comparePersons(traitsOfPerson(ada), traitsOfPerson({ ...from, ...change })),
  );

describe('the levels of the Identity Matching guide', () => {
  test.each<[string, Partial<PersonDemographics>, string, number, string]>([
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
      { contacts: [{ phone: '6172000100' }] },
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
  test.each<[string, Partial<PersonDemographics>]>([
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
          traitsOfPerson({
            ...ada,
            addresses: [{ ...home, addressLine1: '202 Delaware Cir' }],
          }),
          traitsOfPerson({
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
  test.each<[string, Partial<PersonDemographics>]>([
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
        contacts: [{ phone: '6172000100' }],
      }).grade,
    ).not.toBe('certain');
  });

  test('nor a nickname, unless twins may be called so', () => {
    const named = (left: string, right: string) =>
      gradeMatch(
        comparePersons(
          traitsOfPerson({ ...ada, firstNames: [left] }),
          traitsOfPerson({ ...ada, firstNames: [right] }),
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
      return gradeMatch(
        comparePersons(traitsOfPerson(born), traitsOfPerson(born)),
      ).grade;
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
    const named = (firstName: string, dob = ada.dob) => {
      const person = { ...ada, firstNames: [firstName], dob };
      return gradeMatch(
        comparePersons(traitsOfPerson(person), traitsOfPerson(person)),
      ).grade;
    };
    for (const name of [
      'Jimboy',
      'Sonnyboy',
      'Babylyn',
      'Marygirl',
      'Xxochitl',
    ])
      expect(named(name), name).toBe('certain');
    for (const name of ['Baby', 'Boy', 'Infant', 'B.B.'])
      expect(named(name), name).toBe('certain');
    for (const name of ['Girl1', 'Mariasgirl1', 'RN', 'Newborn'])
      expect(named(name), name).not.toBe('certain');
    const thisYear = `${new Date().getUTCFullYear()}-01-14`;
    for (const name of ['Babyboy', 'Marias Boy', 'Baby', 'Boy', 'Girl1'])
      expect(named(name, thisYear), name).not.toBe('certain');
    expect(named('Jimboy', thisYear)).toBe('certain');
  });
});

describe('possible, if an error or a new last name is assumed', () => {
  test.each<[string, Partial<PersonDemographics>]>([
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
      traitsOfPerson({
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
  test('are found in either direction, and never in equal texts', () =>
    fc.assert(
      fc.property(
        fc.string({ maxLength: 8 }),
        fc.string({ maxLength: 8 }),
        (left, right) => {
          expect(isOneEditApart(left, right)).toBe(isOneEditApart(right, left));
          expect(isOneEditApart(left, left)).toBe(false);
        },
      ),
    ));

  test('a letter added, left out or replaced is one, and so are exchanged neighbours', () =>
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom<'a' | 'b' | 'c' | 'd'>('a', 'b', 'c'), {
          maxLength: 6,
        }),
        fc.nat(),
        fc.constantFrom<'a' | 'd'>('a', 'd'),
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
      ),
    ));

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
  test('all mistyped forms of a date are listed, as far as the calendar has them', () =>
    fc.assert(
      fc.property(fc.constantFrom(...days), (date) => {
        expect(mistypedDates(date).sort()).toEqual(
          days.filter((other) => isDateMistyped(date, other)),
        );
      }),
      {
        numRuns: 10,
        examples: [['2000-01-08'], ['2000-02-29']],
      },
    ));

  test('partial dates have none', () => {
    expect(isDateMistyped('1985-12', '1985-11')).toBe(false);
    expect(isDateMistyped('1985-12-10', '1985-12')).toBe(false);
  });
});

const RANK: Record<MatchGrade, number> = {
  certain: 3,
  probable: 2,
  possible: 1,
  'certainly-not': 0,
};
const gradeOf = (left: PersonDemographics, right: PersonDemographics) =>
  gradeMatch(comparePersons(traitsOfPerson(left), traitsOfPerson(right)));

describe('what is accepted without a person', () => {
  test('has the same birth date within the year, no other gender, and something in common beside names', () =>
    fc.assert(
      fc.property(anyPerson, anyPatient, (ours, theirs) => {
        if (!describesPerson(ours, theirs)) return;
        expect(
          Math.abs(
            Number(theirs.birthDate?.slice(0, 4)) -
              Number(ours.dob.slice(0, 4)),
          ),
        ).toBeLessThan(3);
        const compared = comparePersons(
          traitsOfPerson(ours),
          traitsOfPatient(theirs),
        );
        expect(compared.contradicts).toEqual([]);
        if (!compared.ssn && !compared.licence)
          expect(compared.firstName).toBe('same');
        expect(compared.gender).not.toBe('different');
        const { zip, street, phone, email, ssn, licence } = compared;
        expect([zip, street, phone, email, ssn, licence]).toContain(true);
      }),
      { numRuns: 500 },
    ));

  test('does not depend on which description comes first', () =>
    fc.assert(
      fc.property(anyPerson, anyPerson, (left, right) => {
        const ours = traitsOfPerson(left);
        const theirs = traitsOfPerson(right);
        expect(gradeMatch(comparePersons(ours, theirs))).toEqual(
          gradeMatch(comparePersons(theirs, ours)),
        );
      }),
    ));

  test('never has another first name, whatever a household shares', () =>
    fc.assert(
      fc.property(anyPerson, anyPerson, (left, right) => {
        const shared = {
          addresses: left.addresses,
          contacts: [...left.contacts, { email: 'home@example.org' }],
        };
        const other = { ...right, ...shared, firstNames: ['Beatrice'] };
        expect(
          gradeOf({ ...left, contacts: shared.contacts }, other).grade,
        ).not.toBe('certain');
      }),
      { numRuns: 300 },
    ));

  test('a contradiction never raises a grade', () =>
    fc.assert(
      fc.property(anyPerson, anyPerson, (left, right) => {
        const before = RANK[gradeOf(left, right).grade];
        const [ours, theirs] = ['512345671', '623456782'].map((value) => [
          { type: 'ssn' as const, value },
        ]);
        const without = ({ personalIdentifiers }: PersonDemographics) =>
          personalIdentifiers.filter(({ type }) => type !== 'ssn');
        const contradicted: Array<[PersonDemographics, PersonDemographics]> = [
          [
            {
              ...left,
              personalIdentifiers: [...without(left), ...(ours ?? [])],
            },
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
      }),
      { numRuns: 300 },
    ));
});
