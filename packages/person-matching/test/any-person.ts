import fc from 'fast-check';
import type { FhirPatient, PersonDemographics } from '../src/index.ts';

const HOME = {
  addressLine1: '12 Elm St',
  city: 'Boston',
  state: 'MA',
};

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
const phone = fc.constantFrom('6172000100', '3032000199');
const identifier = fc.constantFrom(
  { type: 'ssn' as const, value: '512345671' },
  { type: 'driversLicense' as const, value: 'S-123 456', state: 'MA' },
);
/** People who have much in common. */
export const anyPerson: fc.Arbitrary<PersonDemographics> = fc.record({
  firstNames: names,
  lastNames: names,
  dob,
  gender: mostly('F', fc.constantFrom('M', 'O', 'U')),
  addresses: fc.array(
    zip.map((each) => ({ ...HOME, zip: each })),
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

/** Patients of another system who have much in common with them. */
export const anyPatient = fc.record({
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
          fc.constantFrom('+1 (617) 200-0100', '617-200-0100 x12'),
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
}) as fc.Arbitrary<FhirPatient>;
