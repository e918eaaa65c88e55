import { describe, expect, test } from 'vitest';
import type { FhirPatient, PersonDemographics } from '../src/index.ts';
import {
  agreesElsewhere,
  agreesWithPerson,
  describesPerson,
} from '../src/index.ts';

const ada: PersonDemographics = {
  firstNames: ['Ada'],
  lastNames: ['Lovelace'],
  dob: '1985-12-10',
  gender: 'F',
  addresses: [
    {
      addressLine1: '1 Main St',
      city: 'Boston',
      state: 'MA',
      zip: '02115-1234',
    },
  ],
  contacts: [{ phone: '6172000100', email: 'ada@example.org' }],
  personalIdentifiers: [{ type: 'ssn', value: '512-34-5671' }],
};
const theirs: FhirPatient = {
  resourceType: 'Patient',
  name: [{ family: 'LOVELACE', given: ['Ada', 'King'] }],
  birthDate: '1985-12-10',
  gender: 'female',
  address: [{ postalCode: '02115' }],
};
const person = (change: Partial<PersonDemographics>) => ({ ...ada, ...change });
const patient = (change: Partial<FhirPatient>): FhirPatient => ({
  ...theirs,
  ...change,
});
const elsewhere = [{ postalCode: '90210' }];

describe('names', () => {
  test.each<[string[], string, string[], string]>([
    [['José'], 'Núñez', ['JOSE'], 'Nunez'],
    [['Maeve'], 'O’Brien', ['Maeve'], "O'BRIEN"],
    [['Maeve'], 'OBrien', ['Maeve'], "O'Brien"],
    [['Jean-Luc'], 'Picard', ['Jean Luc'], 'Picard'],
    [['Rosalind'], 'Smith', ['Rosalind Ann'], 'Smith-Jones'],
    [['Robert', 'Bob'], 'Smith', ['Bob'], 'Smith'],
    [['Ana'], 'De La Cruz', ['Ana'], 'Delacruz'],
    [['Jan'], 'Berg', ['Jan'], 'van der Berg'],
    [['Søren'], 'Weiß', ['Soren'], 'WEISS'],
    [['Nguyễn'], 'Văn', ['Nguyen'], 'Van'],
    [['Aaron697'], 'Dicki44', ['Aaron697'], 'Dicki44'],
  ])('%j %s is %j %s', (firstNames, lastName, given, family) => {
    const ours = person({ firstNames, lastNames: lastName.split(' ') });
    expect(describesPerson(ours, patient({ name: [{ given, family }] }))).toBe(
      true,
    );
  });

  test.each<[FhirPatient['name']]>([
    [[{ given: ['Adam'], family: 'Lovelace' }]],
    [[{ given: ['Ada'], family: 'Love' }]],
    [[{ given: ['King', 'Ada'], family: 'Lovelace' }]],
    // Parts of two names.
    [
      [
        { given: ['Ada'], family: 'King' },
        { given: ['Eve'], family: 'Lovelace' },
      ],
    ],
    [[{ given: ['Ada'] }]],
    [[{ family: 'Lovelace' }]],
    [[{ family: '', given: [''] }]],
    [[]],
    [undefined],
  ])('%j is somebody else', (name) => {
    expect(describesPerson(ada, patient({ name }))).toBe(false);
  });

  test('a former name counts, and so does one that is only a text', () => {
    const married = [
      { family: 'King', given: ['Ada'] },
      { use: 'maiden' as const, family: 'Lovelace' },
    ];
    expect(describesPerson(ada, patient({ name: married }))).toBe(true);
    expect(
      describesPerson(ada, patient({ name: [{ text: 'Ada Lovelace' }] })),
    ).toBe(true);
  });
});

describe('birth and gender', () => {
  test.each(['1985-12-11', '1985-12', '1985', undefined])(
    'the birth date %s is not the same',
    (birthDate) => {
      expect(describesPerson(ada, patient({ birthDate }))).toBe(false);
    },
  );

  test.each<[PersonDemographics['gender'], FhirPatient['gender'], boolean]>([
    ['F', 'female', true],
    ['F', 'male', false],
    ['M', 'female', false],
    ['O', 'other', true],
    ['O', 'male', false],
    ['U', 'male', true],
    ['F', 'unknown', true],
    ['F', undefined, true],
  ])('%s against %s: %s', (ours, gender, isSame) => {
    expect(describesPerson(person({ gender: ours }), patient({ gender }))).toBe(
      isSame,
    );
  });
});

describe('what tells namesakes apart', () => {
  test('one zip in common is enough, by its five digits', () => {
    expect(
      describesPerson(
        ada,
        patient({ address: [...elsewhere, { postalCode: '02115-9999' }] }),
      ),
    ).toBe(true);
    expect(describesPerson(ada, patient({ address: elsewhere }))).toBe(false);
    expect(describesPerson(ada, patient({ address: undefined }))).toBe(false);
  });

  test.each(['+1 (617) 200-0100', '617.200.0100', '6172000100 x12'])(
    'so is the phone number %s',
    (value) => {
      const moved = patient({
        address: elsewhere,
        telecom: [{ system: 'phone', value }],
      });
      expect(describesPerson(ada, moved)).toBe(true);
    },
  );

  test('an empty phone number or zip is in common with nobody', () => {
    const vague = patient({
      address: [{ postalCode: '' }],
      telecom: [{ system: 'phone', value: '' }],
    });
    expect(
      describesPerson(person({ contacts: [{ phone: undefined }] }), vague),
    ).toBe(false);
  });

  test('so is an SSN or a licence, told by system or type, however it is written', () => {
    const ssn = {
      system: 'http://hl7.org/fhir/sid/us-ssn',
      value: '512345671',
    };
    expect(
      describesPerson(ada, patient({ address: [], identifier: [ssn] })),
    ).toBe(true);
    const licensed = person({
      personalIdentifiers: [
        { type: 'driversLicense', value: 's-999 1', state: 'MA' },
      ],
    });
    const licence = { type: { coding: [{ code: 'DL' }] }, value: 'S9991' };
    expect(
      describesPerson(
        licensed,
        patient({ address: [], identifier: [licence] }),
      ),
    ).toBe(true);
    const byState = {
      system: 'urn:oid:2.16.840.1.113883.4.3.25',
      value: 'S9991',
    };
    expect(
      describesPerson(
        licensed,
        patient({ address: [], identifier: [byState] }),
      ),
    ).toBe(true);
  });

  test('a masked SSN, or the same number of another kind, proves nothing', () => {
    const masked = {
      system: 'http://hl7.org/fhir/sid/us-ssn',
      value: '***-**-5671',
    };
    const record = { type: { coding: [{ code: 'MR' }] }, value: '512-34-5671' };
    expect(
      describesPerson(
        ada,
        patient({ address: [], identifier: [masked, record] }),
      ),
    ).toBe(false);
  });
});

describe('a Patient that comes with a statement about who it is', () => {
  test('has our name, birth date and gender, and shares an address, phone or e-mail if it has one', () => {
    const bare = patient({ address: [], telecom: undefined });
    expect(agreesWithPerson(ada, bare)).toBe(true);
    expect(agreesWithPerson(ada, patient({ address: elsewhere }))).toBe(false);
    const moved = patient({
      address: elsewhere,
      telecom: [{ system: 'phone', value: '617-200-0100' }],
    });
    expect(agreesWithPerson(ada, moved)).toBe(true);
    expect(agreesWithPerson(ada, { ...bare, birthDate: '1985-12-11' })).toBe(
      false,
    );
    expect(agreesWithPerson(ada, { ...bare, gender: 'male' })).toBe(false);
    expect(
      agreesWithPerson(ada, {
        ...bare,
        name: [{ family: 'King', given: ['Ada'] }],
      }),
    ).toBe(false);
  });

  test('needs an address if many people share the birth date', () => {
    const vague = { ...ada, dob: '1985-01-01' };
    expect(
      agreesWithPerson(
        vague,
        patient({ address: [], birthDate: '1985-01-01' }),
      ),
    ).toBe(false);
  });

  test('may live elsewhere where an earlier match is kept', () => {
    expect(agreesElsewhere(ada, patient({ address: elsewhere }))).toBe(true);
    expect(agreesElsewhere(ada, patient({ gender: 'male' }))).toBe(false);
  });
});
