import type {
  SampleCreateBody,
  SamplePatient,
} from '../../src/local-stack/sample-patients.ts';

/**
 * What of a person must not be readable anywhere but in the database and at
 * those who are meant to have it.
 */
export function wordsOf({
  createBody,
  fullName,
}: Pick<SamplePatient, 'createBody' | 'fullName'>): string[] {
  const {
    firstName,
    lastName,
    dob,
    address,
    contact,
    personalIdentifiers,
    externalId,
  } = createBody;
  return [
    fullName,
    ...firstName.split(' '),
    ...lastName.split(' '),
    dob,
    dob.replaceAll('-', ''),
    ...address.flatMap(({ addressLine1 }) => addressLine1),
    ...contact.map(({ phone }) => phone),
    ...personalIdentifiers.map(({ value }) => value),
    externalId,
  ];
}

/** Somebody whom no source knows. */
export const UNKNOWN_PERSON: SampleCreateBody = {
  firstName: 'Quirina88',
  lastName: 'Nowherefound77',
  dob: '1971-02-28',
  genderAtBirth: 'F',
  address: [
    {
      addressLine1: '4321 Hidden Hollow',
      city: 'Boston',
      state: 'MA',
      zip: '02108',
      country: 'USA',
    },
  ],
  contact: [{ phone: '6175550199' }],
  personalIdentifiers: [{ type: 'ssn', value: '999887766' }],
  externalId: 'EHR-UNKNOWN-9001',
};

/**
 * The words that a text holds, in any of the forms in which they get around:
 * whatever the case, percent-encoded, escaped as in JSON, or inside base64.
 * Words have five letters and more: shorter ones stand in random bytes.
 */
export function findWords(text: string, words: readonly string[]): string[] {
  const lower = text.toLowerCase();
  return words.filter(
    (word) =>
      plainForms(word).some((form) => lower.includes(form.toLowerCase())) ||
      base64Forms(word).some((form) => text.includes(form)),
  );
}

const plainForms = (word: string): string[] => [
  word,
  encodeURIComponent(word),
  JSON.stringify(word).slice(1, -1),
  word.replaceAll(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: everything outside ASCII is what is escaped
    /[^\x00-\x7f]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  ),
];

/**
 * The part of the encoding that depends on the word alone, for each place it
 * may have in a group of three bytes.
 */
function base64Forms(word: string): string[] {
  const bytes = Buffer.from(word);
  if (bytes.length < 6) return [];
  return [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(
        Math.ceil((offset * 8) / 6),
        Math.floor(((offset + bytes.length) * 8) / 6),
      ),
  );
}
