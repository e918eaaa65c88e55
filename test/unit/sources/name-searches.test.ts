import fc from 'fast-check';
import type { HumanName, Patient } from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { describesPerson } from '#person-matching';
import type { Demographics } from '../../../src/exchange/people/patients/rules/demographics.ts';
import {
  IDENTIFYING_PARAMETERS,
  type PersonSearch,
  personSearches,
} from '../../../src/exchange/sources/connectors/patient/search-person.ts';
import { ada } from '../../support/fake-source.ts';
import { property } from '../../support/property.ts';

/**
 * How FHIR's string search compares: from the beginning, without case and
 * accents, punctuation as it is.
 */
const indexed = (text: string) =>
  text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
const begins = (stored: Array<string | undefined>, asked: readonly string[]) =>
  stored.some(
    (text) =>
      text !== undefined &&
      asked.some((value) => indexed(text).startsWith(indexed(value))),
  );

/** The Patient as a server with FHIR's plain search semantics indexes it. */
const INDEX: Record<
  string,
  (patient: Patient, asked: readonly string[]) => boolean
> = {
  family: ({ name = [] }, asked) =>
    begins(
      name.map(({ family }) => family),
      asked,
    ),
  given: ({ name = [] }, asked) =>
    begins(
      name.flatMap(({ given = [] }) => given),
      asked,
    ),
  name: ({ name = [] }, asked) =>
    begins(
      name.flatMap(({ family, given = [], text }) => [family, ...given, text]),
      asked,
    ),
  birthdate: ({ birthDate }, asked) =>
    birthDate !== undefined && asked.includes(birthDate),
  'address-postalcode': ({ address = [] }, asked) =>
    begins(
      address.map(({ postalCode }) => postalCode),
      asked,
    ),
  phone: ({ telecom = [] }, asked) =>
    telecom.some(({ value }) => value !== undefined && asked.includes(value)),
  identifier: ({ identifier = [] }, asked) =>
    identifier.some(
      ({ value }) => value !== undefined && asked.includes(value),
    ),
};

const finds = (search: PersonSearch, patient: Patient) =>
  Object.entries(search).every(
    ([name, asked]) => INDEX[name]?.(patient, asked) === true,
  );
const isFound = (
  person: Demographics,
  patient: Patient,
  offered?: ReadonlySet<string>,
) => personSearches(person, offered).some((search) => finds(search, patient));

const person = (first: string, last: string): Demographics => ({
  ...ada,
  firstNames: [first],
  lastNames: [last],
});
const patient = (name: HumanName, change: Partial<Patient> = {}): Patient => ({
  resourceType: 'Patient',
  birthDate: ada.dob,
  gender: 'female',
  address: [{ postalCode: '02115-9999' }],
  name: [name],
  ...change,
});

describe('a person whose name is stored in another way', () => {
  const cases: Array<[string, string, HumanName]> = [
    ['Ana', 'Garcia-Lopez', { family: 'Lopez', given: ['Ana'] }],
    ['Ana', 'Lopez', { family: 'Garcia-Lopez', given: ['Ana'] }],
    ['Maeve', "O'Brien", { family: 'OBrien', given: ['Maeve'] }],
    ['Maeve', 'OBrien', { family: "O'Brien", given: ['Maeve'] }],
    ['Maeve', "O'Brien", { family: 'O’Brien', given: ['Maeve'] }],
    ['Maeve', 'O’Brien', { family: "O'Brien", given: ['Maeve'] }],
    ['Jan', 'Van der Berg', { family: 'Vanderberg', given: ['Jan'] }],
    ['Jan', 'Berg', { family: 'van der Berg', given: ['Jan'] }],
    ['Ada', 'Lovelace', { text: 'Ada Lovelace' }],
    ['José', 'Núñez', { family: 'NUNEZ', given: ['JOSE'] }],
    ['Jean-Luc', 'Picard', { family: 'Picard', given: ['Jean Luc'] }],
    ['DAngelo', 'King', { family: 'King', given: ["D'Angelo"] }],
  ];
  // Also without a zip in common, and by a server that lists only the
  // parameters most servers have.
  test.each(cases)('%s %s is found as %j', (first, last, name) => {
    const theirs = patient(name);
    expect(describesPerson(person(first, last), theirs)).toBe(true);
    expect(isFound(person(first, last), theirs)).toBe(true);
    const usual = new Set([
      'family',
      'given',
      'birthdate',
      'address-postalcode',
    ]);
    expect(isFound(person(first, last), theirs, usual)).toBe(true);
  });

  test.each(cases)('%s %s is found as %j by the phone', (first, last, name) => {
    const theirs = patient(name, {
      address: [],
      telecom: [{ system: 'phone', value: '(617) 200-0100' }],
    });
    expect(describesPerson(person(first, last), theirs)).toBe(true);
    expect(isFound(person(first, last), theirs)).toBe(true);
  });
});

const word = fc.string({
  unit: fc.constantFrom(...'abdeilnorstvzÁéñöß'),
  minLength: 1,
  maxLength: 6,
});
const joint = fc.constantFrom(' ', '-', "'", '’', '', '. ');
const name = fc
  .array(fc.tuple(word, joint), { minLength: 1, maxLength: 4 })
  .map((parts) =>
    parts
      .map(([text, separator], index) =>
        index === 0 ? text : separator + text,
      )
      .join(''),
  );
const anchor = fc.constantFrom<Partial<Patient>>(
  { address: [{ postalCode: '02115' }] },
  { address: [], telecom: [{ system: 'phone', value: '617.200.0100' }] },
  {
    address: [],
    identifier: [
      { system: 'http://hl7.org/fhir/sid/us-ssn', value: '512345671' },
    ],
  },
);

describe('the searches', () => {
  property([name, name, name, name, anchor, fc.boolean()])(
    'find everybody whom our matching rule accepts',
    (ourFirst, ourLast, theirFirst, theirLast, shared, isText) => {
      const ours = person(ourFirst, ourLast);
      const pairs: HumanName[] = [
        { given: [theirFirst], family: theirLast },
        {
          given: [ourFirst.replace(/['’-]/g, '')],
          family: `${theirLast}-${ourLast}`,
        },
        ...(isText ? [{ text: `${ourFirst} ${ourLast}` }] : []),
      ];
      for (const pair of pairs) {
        const theirs = patient(pair, shared);
        if (describesPerson(ours, theirs))
          expect(isFound(ours, theirs)).toBe(true);
      }
    },
  );

  property([name, name])(
    'are few, bounded, and always contain the birth date',
    (first, last) => {
      const searches = personSearches(person(first, last));
      expect(searches.length).toBeLessThanOrEqual(5);
      for (const search of searches) {
        expect(search.birthdate).toEqual([ada.dob]);
        expect(
          Object.keys(search).filter(
            (key) => !IDENTIFYING_PARAMETERS.includes(key),
          ),
        ).toEqual([]);
        for (const values of Object.values(search))
          expect(values.length).toBeLessThanOrEqual(40);
      }
    },
  );

  property([fc.subarray(IDENTIFYING_PARAMETERS)])(
    'beyond the first use only parameters that the server lists',
    (listed) => {
      const [, ...wide] = personSearches(ada, new Set(listed));
      expect(
        wide
          .flatMap((search) => Object.keys(search))
          .filter((key) => !listed.includes(key)),
      ).toEqual([]);
    },
  );
});
