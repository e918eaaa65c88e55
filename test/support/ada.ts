import type { Demographics } from '../../src/exchange/people/patients/rules/demographics.ts';

/** A person, and the Patient that a source has about her. */
export const ada: Demographics = {
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
      country: 'USA',
    },
  ],
  contacts: [{ phone: '6172000100', email: 'ada@example.org' }],
  personalIdentifiers: [{ type: 'ssn', value: '512-34-5671' }],
};

export const adaAtSource = {
  resourceType: 'Patient',
  id: 'p1',
  name: [{ family: 'LOVELACE', given: ['Ada', 'King'] }],
  birthDate: '1985-12-10',
  gender: 'female',
  address: [{ postalCode: '02115' }],
};
