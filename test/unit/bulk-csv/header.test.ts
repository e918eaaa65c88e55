import { describe, expect, test } from 'vitest';
import { headerProblem } from '../../../src/shared/bulk-csv/check-csv.ts';

const REQUIRED = [
  'firstName',
  'lastName',
  'dob',
  'gender',
  'addressLine1-1',
  'city-1',
  'state-1',
  'zip-1',
];
const withColumns = (...more: string[]) =>
  headerProblem([...REQUIRED, ...more]);
const spelled = (name: string, as: string) =>
  headerProblem(REQUIRED.map((column) => (column === name ? as : column)));

describe('what a header may look like', () => {
  test.each([
    ['firstName', 'First Name'],
    ['firstName', 'FIRST_NAME*'],
    ['lastName', ' lastname '],
    ['gender', 'Gender at birth'],
    ['addressLine1-1', 'address1-1'],
    ['addressLine1-1', 'Address Line 1'],
    ['zip-1', 'Zip Code-1'],
    ['zip-1', 'zipcode'],
    ['zip-1', 'ZIP'],
    ['dob', 'D.O.B.'],
  ])('%s may be written "%s"', (name, as) => {
    expect(spelled(name, as)).toBeUndefined();
  });

  test('all columns there are, each number from 1 to 10', () => {
    const single = [
      'id',
      'ssn',
      "Driver's Licence No",
      'driversLicenseState',
      'facilityId',
      'hieOptOut',
    ];
    const numbered = ['addressLine2', 'phone', 'email', 'cohort'].flatMap(
      (stem) =>
        Array.from({ length: 10 }, (_, index) => `${stem}-${index + 1}`),
    );
    expect(withColumns(...single, ...numbered)).toBeUndefined();
  });

  test('columns of somebody else, blank ones and those of a result CSV are left alone', () => {
    expect(
      withColumns('notes', '', ' ', '', 'phone-type', 'preferred language'),
    ).toBeUndefined();
    const result = ['patientId', 'metriportId', 'status', 'reason'];
    expect(withColumns(...result, ...result)).toBeUndefined();
  });
});

describe('what is wrong with a header is told in one sentence', () => {
  test('a header of very many columns, and very many problems', () => {
    const many = Array.from({ length: 2_000 }, (_, n) => `own ${n}`);
    expect(headerProblem(many)).toBe(
      'the first line has 2000 columns; at most 1000 are read',
    );
    const twice = headerProblem(Array(900).fill('notes')) ?? '';
    expect(twice).toContain('and 880 more');
    const long = headerProblem([`phone-${'9'.repeat(10_000)}`]) ?? '';
    expect(long.length).toBeLessThan(500);
  });

  test.each([
    [
      ['phone-11'],
      'column "phone-11": a number from 1 to 10 is expected after the hyphen',
    ],
    [
      ['zip-0'],
      'column "zip-0": a number from 1 to 10 is expected after the hyphen',
    ],
    [
      ['city-02'],
      'column "city-02": a number from 1 to 10 is expected after the hyphen',
    ],
    [
      ['email-'],
      'column "email-": a number from 1 to 10 is expected after the hyphen',
    ],
    [
      ['cohort--1'],
      'column "cohort--1": a number from 1 to 10 is expected after the hyphen',
    ],
    [['ssn-1'], 'column "ssn-1": this column takes no number'],
    [['zip'], 'columns 8 and 9 are both zip-1'],
    [['id', 'External ID'], 'columns 9 and 10 are both externalId'],
    [['genderAtBirth'], 'columns 4 and 9 are both gender'],
    [['Notes', 'notes'], 'columns 9 and 10 have the same name'],
  ])('%j', (more, problem) => {
    expect(withColumns(...more)).toBe(problem);
  });

  test('required columns that are missing, with the likely cause', () => {
    expect(headerProblem(REQUIRED.slice(1))).toBe(
      'the first line lacks the required column firstName',
    );
    expect(headerProblem([REQUIRED.join(';')])).toBe(
      `the first line lacks the required columns ${REQUIRED.join(', ')}; columns are separated by commas`,
    );
    expect(spelled('firstName', 'first-name')).toBe(
      'the first line lacks the required column firstName; write "first-name" without the hyphen',
    );
  });

  test('a file without a header: nothing of the person in its first line is told', () => {
    const person = [
      'Ann',
      'Lee',
      '1980-01-01',
      'F',
      '1 Main St',
      'Boston',
      'MA',
      '02116',
      'Ann',
      'Lee',
    ];
    const problem = headerProblem(person) ?? '';
    for (const cell of person.filter((text) => text.length > 1))
      expect(problem).not.toContain(cell);
    expect(problem).toContain('columns 1 and 9 have the same name');
  });
});
