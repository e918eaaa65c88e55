import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import {
  addressSchema,
  emailSchema,
  genderSchema,
  patientDemographicsSchema,
  personalIdentifierSchema,
  phoneSchema,
} from '../../../src/contract/patients.ts';
import {
  dobSchema,
  namesSchema,
  usStateSchema,
} from '../../../src/contract/primitives.ts';
import * as rules from '../../../src/shared/bulk-csv/cell-rules.ts';
import { rowReason } from '../../../src/shared/bulk-csv/row.ts';
import { createRowReader } from '../../../src/shared/bulk-csv/row-reader.ts';

const GOOD: Record<string, string> = {
  firstName: 'Ann,Mary',
  lastName: 'Lee',
  dob: '1980-01-01',
  gender: 'f',
  'addressLine1-1': '1 Main St',
  'city-1': 'Boston',
  'state-1': 'ma',
  'zip-1': '02116',
};
function read(changes: Record<string, string> = {}) {
  const row = { ...GOOD, ...changes };
  const layout = {
    recordDelimiter: '\n' as const,
    bom: false,
    columns: Object.keys(row),
  };
  return createRowReader(layout)(Object.values(row));
}
const reasonOf = (changes: Record<string, string>) =>
  rowReason(read(changes).errors);

describe('a cell is judged as E4 judges the same field', () => {
  const [licence, ssn] = personalIdentifierSchema.options;
  const pairs: [
    string,
    rules.CellRule<unknown>,
    z.ZodType,
    fc.Arbitrary<string>,
  ][] = [
    [
      'phone',
      rules.phoneRule,
      phoneSchema,
      fc.stringMatching(/^[0-9 -]{9,11}$/),
    ],
    [
      'email',
      rules.emailRule,
      emailSchema,
      fc.oneof(fc.emailAddress(), fc.stringMatching(/^[a+1.é@:-]{1,12}$/)),
    ],
    [
      'mailto',
      rules.emailRule,
      emailSchema,
      fc.emailAddress().map((text) => `mailto:${text}`),
    ],
    [
      'dob',
      rules.dobRule,
      dobSchema,
      fc.stringMatching(/^(1[89]|20)\d\d-[01]\d-[0-3]\d$/),
    ],
    [
      'names',
      rules.namesRule,
      namesSchema,
      fc.stringMatching(/^[a ,é\u00a0]{1,8}$/),
    ],
    [
      'state',
      rules.stateRule,
      usStateSchema,
      fc.stringMatching(/^[AMNXamnx]{1,3}$/),
    ],
    [
      'ssn',
      rules.ssnRule,
      ssn.shape.value,
      fc.stringMatching(/^[0-9-]{8,11}$/),
    ],
    [
      'licence',
      rules.licenceNumberRule,
      licence.shape.value,
      fc.string({ minLength: 1, maxLength: 250 }),
    ],
    [
      'line 1',
      rules.line1Rule,
      addressSchema.shape.addressLine1,
      fc.string({ minLength: 1, maxLength: 250 }),
    ],
    [
      'line 2',
      rules.line2Rule,
      addressSchema.shape.addressLine2,
      fc.string({ minLength: 1, maxLength: 250 }),
    ],
    [
      'city',
      rules.cityRule,
      addressSchema.shape.city,
      fc.string({ minLength: 1, maxLength: 250 }),
    ],
  ];
  test.each(pairs)('%s', (_name, rule, schema, likely) => {
    const text = fc
      .oneof({ weight: 4, arbitrary: likely }, fc.string({ unit: 'grapheme' }))
      .map((value) => value.trim())
      .filter((value) => value !== '');
    fc.assert(
      fc.property(text, (value) => {
        const parsed = schema.safeParse(value);
        const judged = rule(value);
        expect(judged instanceof rules.Wrong).toBe(!parsed.success);
        if (parsed.success) expect(judged).toEqual(parsed.data);
      }),
      { numRuns: 500 },
    );
  });

  test('gender in any case, and by all four letters', () => {
    for (const letter of 'MFOUmfou')
      expect(rules.genderRule(letter)).toBe(
        genderSchema.parse(letter.toUpperCase()),
      );
    expect(rules.genderRule('x')).toMatchObject({
      message: expect.stringContaining('expected M, F, O'),
    });
  });

  test('a valid row is a valid body of E4, unchanged by its schema', () => {
    const { value } = read({
      id: 'r-1',
      'phone-2': '6175551234',
      ssn: '123456789',
      hieOptOut: 'TRUE',
    });
    expect(patientDemographicsSchema.parse(value?.patient)).toEqual(
      value?.patient,
    );
  });
});

describe('a row', () => {
  test('of all columns becomes a patient, with facility and cohorts', () => {
    const cohort = '01890A5D-AC96-774B-BCCE-B302099A8057';
    const changes = {
      externalId: ' r-1 ',
      'addressLine2-1': 'Apt 3',
      'addressLine1-3': '2 Oak Ave',
      'city-3': 'Reno',
      'state-3': 'NV',
      'zip-3': '89501',
      'phone-1': '6175551234',
      'email-1': 'ann@example.org',
      'email-10': 'a+b@example.org',
      ssn: '123456789',
      driversLicenceNo: 'S1',
      driversLicenceState: 'Ma',
      'cohort-1': cohort,
      'cohort-2': cohort.toLowerCase(),
      facilityId: cohort,
      hieOptOut: 'False',
    };
    expect(read(changes)).toEqual({
      errors: [],
      facility: { column: 'facilityId', id: cohort.toLowerCase() },
      cohorts: [{ column: 'cohort-1', id: cohort.toLowerCase() }],
      value: {
        facilityId: cohort.toLowerCase(),
        cohorts: [cohort.toLowerCase()],
        patient: {
          firstName: ['Ann', 'Mary'],
          lastName: ['Lee'],
          dob: '1980-01-01',
          genderAtBirth: 'F',
          externalId: 'r-1',
          status: { hieOptOut: false },
          address: [
            {
              addressLine1: '1 Main St',
              addressLine2: 'Apt 3',
              city: 'Boston',
              state: 'MA',
              zip: '02116',
              country: 'USA',
            },
            {
              addressLine1: '2 Oak Ave',
              city: 'Reno',
              state: 'NV',
              zip: '89501',
              country: 'USA',
            },
          ],
          contact: [
            { phone: '6175551234', email: 'ann@example.org' },
            { email: 'a+b@example.org' },
          ],
          personalIdentifiers: [
            { type: 'ssn', value: '123456789' },
            { type: 'driversLicense', value: 'S1', state: 'MA' },
          ],
        },
      },
    });
  });

  test('without hieOptOut says nothing of it', () => {
    expect(read().value?.patient.status).toBeUndefined();
    expect(read({ hieOptOut: ' ' }).value?.patient.status).toBeUndefined();
  });

  test.each([
    [
      { 'zip-1': '2110' },
      'zip-1: "2110" has 4 digits, 5 expected; a leading zero may have been lost in a spreadsheet',
    ],
    [{ 'zip-1': '02110-1234' }, 'zip-1: "02110-1234" has 9 digits, 5 expected'],
    [
      { 'zip-1': 'x02110' },
      'zip-1: "x02110" has 5 digits, 5 expected and nothing else',
    ],
    [
      { 'state-1': 'XX' },
      'state-1: "XX" is not the two-letter code of a US state or territory',
    ],
    [{ firstName: ' , ' }, 'firstName: at least one name is required'],
    [{ dob: '' }, 'dob: is required'],
    [
      { dob: '01/02/1980' },
      'dob: "01/02/1980" is not a date in the format YYYY-MM-DD',
    ],
    [
      { dob: '1981-02-29' },
      'dob: "1981-02-29" is not a date in the format YYYY-MM-DD',
    ],
    [{ dob: '1899-12-31' }, 'dob: is before 1900'],
    [{ dob: '2999-01-01' }, 'dob: is in the future'],
    [
      { gender: 'female' },
      'gender: expected M, F, O (known, neither M nor F) or U (unknown)',
    ],
    [
      { 'phone-1': '617-555-1234' },
      'phone-1: "617-555-1234" has 10 digits; expected exactly 10 digits without separators: 6175551234',
    ],
    [
      { 'email-1': '+16175551234@x.org' },
      'email-1: the part of an e-mail address before the @ must not be a phone number',
    ],
    [
      { ssn: '123-45-678' },
      'ssn: an SSN has exactly 9 digits without separators',
    ],
    [
      { driversLicenseNo: 'S1' },
      'driversLicenseState: is required, because driversLicenseNo is given',
    ],
    [
      { 'cohort-1': 'diabetes' },
      'cohort-1: "diabetes" is not an id in UUID form',
    ],
    [{ facilityId: '7' }, 'facilityId: "7" is not an id in UUID form'],
    [{ hieOptOut: 'yes' }, 'hieOptOut: "yes" is neither true nor false'],
    [{ 'city-1': '' }, 'city-1: is required'],
  ])('%j is wrong: %s', (changes, reason) => {
    expect(reasonOf(changes)).toBe(reason);
    expect(read(changes).value).toBeUndefined();
  });

  test('tells all its errors at once, by the columns of its own file', () => {
    const { errors } = read({
      dob: 'x',
      'zip-1': '1',
      'Phone No': '1',
      'Phone - 2': '1',
      hieOptOut: '?',
    });
    expect(errors.map(({ column }) => column)).toEqual([
      'dob',
      'zip-1',
      'Phone - 2',
      'hieOptOut',
    ]);
  });

  test('with more or fewer cells than the header is not guessed at', () => {
    const layout = {
      recordDelimiter: '\n' as const,
      bom: false,
      columns: Object.keys(GOOD),
    };
    const reader = createRowReader(layout);
    expect(rowReason(reader([...Object.values(GOOD), '']).errors)).toBe(
      'has 9 cells, the header has 8',
    );
    expect(rowReason(reader(['Ann']).errors)).toBe(
      'has 1 cell, the header has 8',
    );
  });

  test('that was escaped for a spreadsheet is read as it was', () => {
    expect(
      read({ id: "'-17", 'city-1': "'s-Hertogenbosch" }).value?.patient,
    ).toMatchObject({
      externalId: '-17',
      address: [{ city: "'s-Hertogenbosch" }],
    });
  });

  test('a licence whose digits a spreadsheet has lost is refused', () => {
    expect(
      reasonOf({ driversLicenseNo: '7.30102E+14', driversLicenseState: 'MA' }),
    ).toContain('a spreadsheet has lost digits of it');
  });

  test('a licence state alone says nothing', () => {
    expect(
      read({ driversLicenseState: 'MA' }).value?.patient.personalIdentifiers,
    ).toEqual([]);
  });
});

describe('the fields of an address belong together', () => {
  const fields = [
    'addressLine1',
    'addressLine2',
    'city',
    'state',
    'zip',
  ] as const;
  const good = {
    addressLine1: '2 Oak Ave',
    addressLine2: 'Apt 1',
    city: 'Reno',
    state: 'NV',
    zip: '89501',
  };
  test('any field from index 2 on asks for all but line 2; an index with none is ignored', () => {
    const given = fc.subarray([...fields]);
    fc.assert(
      fc.property(given, fc.integer({ min: 2, max: 10 }), (present, index) => {
        const changes = Object.fromEntries(
          fields.map((field) => [
            `${field}-${index}`,
            present.includes(field) ? good[field] : '',
          ]),
        );
        const missing =
          present.length === 0
            ? []
            : fields.filter(
                (field) => field !== 'addressLine2' && !present.includes(field),
              );
        const { errors, value } = read(changes);
        expect(errors.map(({ column }) => column)).toEqual(
          missing.map((field) => `${field}-${index}`),
        );
        if (missing.length === 0)
          expect(value?.patient.address).toHaveLength(
            present.length === 0 ? 1 : 2,
          );
      }),
    );
  });

  test('columns that the file lacks are asked for by their usual names', () => {
    expect(reasonOf({ 'City 2': 'x', 'city-2': 'Reno' })).toBe(
      ['addressLine1-2', 'state-2', 'zip-2']
        .map(
          (name) =>
            `${name}: is required, because another field of address 2 is given`,
        )
        .join('; '),
    );
  });
});
