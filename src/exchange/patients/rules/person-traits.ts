import type { HumanName, Patient } from 'fhir/r4.js';
import type { Demographics, Gender } from './demographics.ts';
import { plainLetters, words } from './name-words.ts';

/** What matching reads of a person, in a form in which equal values are equal texts. */
export interface PersonTraits {
  /** The first word of each first name. */
  firstNames: readonly string[];
  /** The words of each last name. */
  lastNames: ReadonlyArray<readonly string[]>;
  /** YYYY-MM-DD; a partial date matches nothing. */
  birthDate?: string;
  /** Undefined if unknown. */
  gender?: 'male' | 'female' | 'other';
  /** Five digits. */
  zips: ReadonlySet<string>;
  /** Address line with the zip, and with city and state. */
  streets: ReadonlySet<string>;
  /** The last ten digits. */
  phones: ReadonlySet<string>;
  emails: ReadonlySet<string>;
  ssns: ReadonlySet<string>;
  /** Driver's licences; the state is ignored, because most systems do not name it in a comparable form. */
  licences: ReadonlySet<string>;
}

const GENDER: Record<Gender, PersonTraits['gender']> = {
  M: 'male',
  F: 'female',
  O: 'other',
  U: undefined,
};

export function traitsOf(person: Demographics): PersonTraits {
  const identifiers = (type: string) =>
    person.personalIdentifiers.flatMap((each) => (each.type === type ? [plainValue(each.value)] : []));
  return {
    firstNames: firstWords(person.firstNames),
    lastNames: wordLists(person.lastNames),
    birthDate: person.dob,
    gender: GENDER[person.gender],
    zips: texts(person.addresses.map(({ zip }) => zip.slice(0, 5))),
    streets: texts(
      person.addresses.flatMap(({ addressLine1, addressLine2, city, state, zip }) =>
        streetsOf([addressLine1, addressLine2], { city, state, zip }),
      ),
    ),
    phones: texts(person.contacts.map(({ phone }) => phone)),
    emails: texts(person.contacts.map(({ email }) => email?.toLowerCase())),
    ssns: texts(identifiers('ssn')),
    licences: texts(identifiers('driversLicense')),
  };
}

/** The traits of a Patient of another system. Masked identifiers ("***-**-1234") are ignored. */
export function traitsOfPatient(patient: Patient): PersonTraits {
  const names = patient.name ?? [];
  const addresses = patient.address ?? [];
  const telecom = patient.telecom ?? [];
  const identifiers = (kind: 'ssn' | 'licence') =>
    (patient.identifier ?? []).flatMap(({ system, type, value = '' }) => {
      const codes = type?.coding?.map(({ code }) => code);
      return identifierKind(system, codes) === kind && !value.includes('*') ? [plainValue(value)] : [];
    });
  return {
    firstNames: firstWords(names.map(firstNameOf)),
    lastNames: wordLists(names.map(lastNameOf)),
    birthDate: patient.birthDate,
    gender: patient.gender === 'unknown' ? undefined : patient.gender,
    zips: texts(addresses.map(({ postalCode }) => postalCode?.trim().slice(0, 5))),
    streets: texts(
      addresses.flatMap(({ line = [], city, state, postalCode }) =>
        streetsOf(line, { city, state, zip: postalCode?.trim() }),
      ),
    ),
    phones: texts(telecom.map(({ system, value }) => (isPhone(system) ? lastTenDigits(value) : undefined))),
    emails: texts(
      telecom.map(({ system, value }) => (system === 'email' ? value?.trim().toLowerCase() : undefined)),
    ),
    ssns: texts(identifiers('ssn')),
    licences: texts(identifiers('licence')),
  };
}

const firstNameOf = ({ given, family, text }: HumanName): string | undefined =>
  given?.[0] ?? (family === undefined ? text : undefined);

const lastNameOf = ({ given, family, text }: HumanName): string | undefined =>
  family === undefined && given === undefined ? text : family;

const firstWords = (names: ReadonlyArray<string | undefined>): string[] =>
  names.flatMap((name) => words(name)[0] ?? []);

const wordLists = (names: ReadonlyArray<string | undefined>): string[][] =>
  names.map(words).filter((list) => list.length > 0);

const texts = (values: ReadonlyArray<string | undefined>): ReadonlySet<string> =>
  new Set(values.filter((value): value is string => value !== undefined && value !== ''));

interface Place {
  city?: string;
  state?: string;
  zip?: string;
}

/** An address line identifies a place only together with its zip, or its city and state. */
function streetsOf(lines: ReadonlyArray<string | undefined>, { city, state, zip }: Place): string[] {
  const line = words(lines.filter(Boolean).join(' ')).join(' ');
  if (line === '') return [];
  const town = words(city).join(' ');
  return [
    ...(zip ? [`${line}|${zip.slice(0, 5)}`] : []),
    ...(town !== '' && state ? [`${line}|${town}|${plainLetters(state.trim())}`] : []),
  ];
}

function isPhone(system: string | undefined): boolean {
  return system === undefined || system === 'phone' || system === 'sms';
}

function lastTenDigits(value: string | undefined): string {
  return (value ?? '')
    .replace(/(?:x|ext).*$/i, '')
    .replace(/\D/g, '')
    .slice(-10);
}

const SSN_SYSTEMS = new Set(['http://hl7.org/fhir/sid/us-ssn', 'urn:oid:2.16.840.1.113883.4.1']);
/** OIDs of driver's licences: HL7's arc, followed by a number per state. */
const LICENCE_SYSTEM = /^urn:oid:2\.16\.840\.1\.113883\.4\.3\.\d+$/;

function identifierKind(
  system = '',
  codes: ReadonlyArray<string | undefined> = [],
): 'ssn' | 'licence' | undefined {
  if (SSN_SYSTEMS.has(system) || codes.includes('SS')) return 'ssn';
  if (LICENCE_SYSTEM.test(system) || codes.includes('DL')) return 'licence';
  return undefined;
}

function plainValue(value: string): string {
  return value.toUpperCase().replace(/[^A-Z0-9]/g, '');
}
