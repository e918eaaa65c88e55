import { badBody, type Refused } from '../operation-cases.ts';

const LINE = {
  addressLine1: '1 Main',
  city: 'Boston',
  state: 'MA',
  zip: '02108',
};
const address = (change: object) => ({ address: [{ ...LINE, ...change }] });
const email = (text: string, message: string) =>
  badBody({ contact: { email: text } }, 'contact[0].email', message);
const year = new Date().getUTCFullYear();

/**
 * What interface.md and interface-decisions.md ask of demographics: create,
 * update and match patient alike.
 */
export const PERSON_RULES: readonly Refused[] = [
  badBody({ firstName: undefined }, 'firstName', 'is required'),
  badBody({ firstName: ' , ' }, 'firstName', 'at least one name'),
  badBody(
    { lastName: 7 },
    'lastName',
    'expected a string or a list of strings',
  ),
  badBody({ dob: undefined }, 'dob', 'is required'),
  badBody({ dob: '1980-02-30' }, 'dob', '"1980-02-30" is not a date'),
  badBody({ dob: '02/03/1980' }, 'dob', 'not a date in the format YYYY-MM-DD'),
  badBody({ dob: '1899-12-31' }, 'dob', 'is before 1900'),
  badBody({ dob: `${year + 1}-12-31` }, 'dob', 'is in the future'),
  badBody({ genderAtBirth: 'X' }, 'genderAtBirth', 'expected M, F, O'),
  badBody({ genderAtBirth: undefined }, 'genderAtBirth', 'expected M, F, O'),
  badBody({ address: undefined }, 'address', 'is required'),
  badBody({ address: [] }, 'address', 'at least 1'),
  badBody(
    address({ addressLine1: ' ' }),
    'address[0].addressLine1',
    'is required',
  ),
  badBody(address({ city: undefined }), 'address[0].city', 'is required'),
  badBody(
    address({ state: 'XX' }),
    'address[0].state',
    '"XX" is not the two-letter code',
  ),
  badBody(
    address({ zip: '2110' }),
    'address[0].zip',
    '4 digits; expected 5 digits or ZIP+4; a leading zero',
  ),
  badBody(address({ zip: '021081234' }), 'address[0].zip', 'expected'),
  badBody(address({ country: 'Canada' }), 'address[0].country', 'only USA'),
  badBody({ contact: {} }, 'contact[0]', 'at least one of phone and email'),
  badBody(
    { contact: [{ phone: '617-555-0123' }] },
    'contact[0].phone',
    'without separators',
  ),
  badBody(
    { contact: [{ phone: '617555012' }] },
    'contact[0].phone',
    'has 9 digits',
  ),
  email('nobody', 'one @'),
  email('a@', 'one @'),
  email('@example.org', 'one @'),
  email('+16175550123@example.org', 'must not be a phone number'),
  email('+1-617-555-0123@example.org', 'must not be a phone number'),
  email('6175550123@example.org', 'must not be a phone number'),
  email('1.617.555.0123@example.org', 'must not be a phone number'),
  email('tel:6175550123@example.org', 'must not be a phone number'),
  email('TEL:a@example.org', 'must not be a phone number'),
  email('mailto:a@example.org', 'without "mailto:"'),
  badBody(
    { personalIdentifiers: [{ type: 'passport', value: '1' }] },
    'personalIdentifiers[0].type',
    'driversLicense or ssn',
  ),
  badBody(
    { personalIdentifiers: [{ type: 'driversLicense', value: '1' }] },
    'personalIdentifiers[0].state',
    'is required',
  ),
  badBody(
    { personalIdentifiers: [{ type: 'ssn', value: '12345678' }] },
    'personalIdentifiers[0].value',
    '9 digits',
  ),
  badBody(
    { personalIdentifiers: [{ type: 'ssn', value: '123456789', state: 'MA' }] },
    'personalIdentifiers[0].state',
    'must not be set for an SSN',
  ),
  badBody({ externalId: ' ' }, 'externalId', ''),
  badBody(
    { additionalIdentifiers: { epic: ['1'] } },
    'additionalIdentifiers',
    'unknown system: epic; supported systems are athenahealth, elation, canvas',
  ),
  badBody(
    { additionalIdentifiers: { quest: 'q-1' } },
    'additionalIdentifiers.quest',
    'expected array',
  ),
  badBody(
    { additionalIdentifiers: { quest: [' '] } },
    'additionalIdentifiers.quest[0]',
    'must not be empty',
  ),
  badBody(
    { additionalIdentifiers: { quest: [7] } },
    'additionalIdentifiers.quest[0]',
    'expected string',
  ),
  badBody(
    {
      additionalIdentifiers: {
        quest: Array.from({ length: 51 }, (_, index) => `q-${index}`),
      },
    },
    'additionalIdentifiers.quest',
    'at most 50 entries',
  ),
  badBody(
    { status: { hieOptOut: 'yes' } },
    'status.hieOptOut',
    'expected boolean',
  ),
];
