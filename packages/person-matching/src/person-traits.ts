import type { FhirPatient, PersonDemographics } from './descriptions.ts';
import { areNicknames, nameWords, plainLetters } from './name-words.ts';
import { namesOfPatient, type PersonName, personName } from './person-names.ts';
import {
  isAdult,
  isSharedPlace,
  isUsableBirthDate,
  isUsableEmail,
  isUsableLicence,
  isUsablePhone,
  isUsableSsn,
  isUsableZip,
} from './stand-ins.ts';

/**
 * What matching reads of a person, in a form in which equal values are equal
 * texts. Values that stand in for one are left out.
 */
export interface PersonTraits {
  /** Whole names; parts of different ones are never combined. */
  names: readonly PersonName[];
  /** YYYY-MM-DD; a partial or made-up date matches nothing. */
  birthDate?: string;
  /** Of age today; false if the birth is unknown. */
  isAdult: boolean;
  /** Undefined if unknown. */
  gender?: 'male' | 'female' | 'other';
  /** Five digits. */
  zips: ReadonlySet<string>;
  /**
   * Address line with the zip, and with city and state; each with the flat, or
   * '' if it is not stated.
   */
  streets: ReadonlyMap<string, string>;
  places: readonly PersonPlace[];
  /** The last ten digits. */
  phones: ReadonlySet<string>;
  emails: ReadonlySet<string>;
  ssns: ReadonlySet<string>;
  /** The last four digits, where a system shows no more of an SSN. */
  maskedSsns: ReadonlySet<string>;
  /**
   * Driver's licences, with their state or ''. Most systems do not name it in a
   * comparable form.
   */
  licences: ReadonlyMap<string, string>;
}

/** An address in parts, to compare those that are mistyped. */
export interface PersonPlace {
  /** The same address in `streets`. */
  streets: readonly string[];
  /** The number of the house. */
  house: string;
  /** '' if it is not stated. */
  flat: string;
  /** The letters of the street without words of directions. */
  street: string;
  town: string;
  zip: string;
}

const GENDER: Record<PersonDemographics['gender'], PersonTraits['gender']> = {
  M: 'male',
  F: 'female',
  O: 'other',
  U: undefined,
};

export function traitsOfPerson(person: PersonDemographics): PersonTraits {
  const {
    firstNames,
    lastNames,
    dob,
    personalIdentifiers,
    addresses,
    contacts,
  } = person;
  return {
    names: ourNames(firstNames, lastNames, isAdult(dob)),
    birthDate: usableDate(dob),
    isAdult: isAdult(dob),
    gender: GENDER[person.gender],
    zips: texts(
      addresses.map(({ zip }) => zip.slice(0, 5)),
      isUsableZip,
    ),
    streets: new Map(
      addresses.flatMap(({ addressLine1, addressLine2, city, state, zip }) =>
        streetsOf([addressLine1, addressLine2], { city, state, zip }),
      ),
    ),
    places: addresses.flatMap(
      ({ addressLine1, addressLine2, city, state, zip }) =>
        placeOf([addressLine1, addressLine2], { city, state, zip }),
    ),
    phones: texts(
      contacts.map(({ phone }) => phone),
      isUsablePhone,
    ),
    emails: texts(
      contacts.map(({ email }) => email?.toLowerCase()),
      isUsableEmail,
    ),
    ...identifiersOf(personalIdentifiers),
  };
}

/**
 * What a person shares with a household: addresses with the flat, phone numbers
 * and e-mail addresses. Equal values are equal texts.
 */
export const householdOf = (traits: PersonTraits): string[] => [
  ...[...traits.streets].map(([street, flat]) => `${street}#${flat}`),
  ...traits.phones,
  ...traits.emails,
];

/** The last name in comparable words; '' if there is none. */
export const lastNameOf = ({ names: [name] }: PersonTraits): string =>
  name?.family.join(' ') ?? '';

/** The traits without what many people share, by the texts of `householdOf`. */
export function withoutShared(
  traits: PersonTraits,
  shared: ReadonlySet<string>,
): PersonTraits {
  if (shared.size === 0) return traits;
  const isOwn = (value: string) => !shared.has(value);
  return {
    ...traits,
    streets: new Map(
      [...traits.streets].filter(([street, flat]) =>
        isOwn(`${street}#${flat}`),
      ),
    ),
    places: traits.places.filter(({ streets, flat }) =>
      streets.every((street) => isOwn(`${street}#${flat}`)),
    ),
    phones: new Set([...traits.phones].filter(isOwn)),
    emails: new Set([...traits.emails].filter(isOwn)),
  };
}

/** A patient's identifiers without those that stand for none. */
export function identifiersOf(
  personalIdentifiers: PersonDemographics['personalIdentifiers'],
): Pick<PersonTraits, 'ssns' | 'maskedSsns' | 'licences'> {
  const identifiers = (kind: string) =>
    personalIdentifiers.filter(({ type }) => type === kind);
  return {
    ...ssnsOf(identifiers('ssn').map(({ value }) => value)),
    licences: licencesOf(
      identifiers('driversLicense').map(({ value, state = '' }) => [
        plainValue(value),
        state,
      ]),
    ),
  };
}

/** Of a masked SSN ("***-**-1234") the last four digits are known. */
const ssnsOf = (
  values: readonly string[],
): Pick<PersonTraits, 'ssns' | 'maskedSsns'> => ({
  ssns: texts(values.map(plainValue), isUsableSsn),
  maskedSsns: texts(
    values.map((value) => MASKED_SSN.exec(value.trim())?.[1]),
    (digits) => digits !== '' && digits !== '0000',
  ),
});
const MASKED_SSN = /^[*x#•?\s-]{2,}(\d{4})$/i;

/**
 * The traits of a Patient of another system. Masked licences ("S***1234") are
 * ignored.
 */
export function traitsOfPatient(patient: FhirPatient): PersonTraits {
  const addresses = patient.address ?? [];
  const telecom = patient.telecom ?? [];
  const identifiers = (kind: 'ssn' | 'licence') =>
    (patient.identifier ?? []).filter(({ system, type }) => {
      const codes = type?.coding?.map(({ code }) => code);
      return identifierKind(system, codes) === kind;
    });
  const ofAge = isAdult(usableDate(patient.birthDate));
  return {
    names: namesOfPatient(patient.name ?? [], ofAge),
    birthDate: usableDate(patient.birthDate),
    isAdult: ofAge,
    gender: patient.gender === 'unknown' ? undefined : patient.gender,
    zips: texts(
      addresses.map(({ postalCode }) => postalCode?.trim().slice(0, 5)),
      isUsableZip,
    ),
    streets: new Map(
      addresses.flatMap(({ line = [], city, state, postalCode }) =>
        streetsOf(line, { city, state, zip: postalCode?.trim() }),
      ),
    ),
    places: addresses.flatMap(({ line = [], city, state, postalCode }) =>
      placeOf(line, { city, state, zip: postalCode?.trim() }),
    ),
    phones: texts(
      telecom.map(({ system, value }) =>
        isPhone(system) ? lastTenDigits(value) : undefined,
      ),
      isUsablePhone,
    ),
    emails: texts(
      telecom.map(({ system, value }) =>
        system === 'email' ? value?.trim().toLowerCase() : undefined,
      ),
      isUsableEmail,
    ),
    ...ssnsOf(identifiers('ssn').map(({ value = '' }) => value)),
    licences: licencesOf(
      identifiers('licence')
        .filter(({ value = '' }) => !value.includes('*'))
        .map(({ value = '', assigner }) => [
          plainValue(value),
          licensingState(assigner?.display),
        ]),
    ),
  };
}

/**
 * A patient's names: all first names are one sequence, and so are all last
 * names. A nickname that the caller gives beside the first name ("Robert, Bob")
 * is a name of its own.
 */
function ourNames(
  firstNames: readonly string[],
  lastNames: readonly string[],
  ofAge: boolean,
): PersonName[] {
  const given = firstNames.flatMap(nameWords);
  const family = lastNames.flatMap(nameWords);
  const [first = '', ...rest] = given;
  const called = rest.filter((word) => areNicknames(first, word));
  const formal = given.filter((word) => !called.includes(word));
  return [
    personName({ given: formal, family, isAdult: ofAge }),
    ...called.map((word) =>
      personName({ given: [word], family, isNickname: true, isAdult: ofAge }),
    ),
  ];
}

const usableDate = (date: string | undefined): string | undefined =>
  date !== undefined &&
  /^\d{4}-\d{2}-\d{2}$/.test(date) &&
  isUsableBirthDate(date)
    ? date
    : undefined;

/** The state of a licence, if its assigner is named by two letters. */
const licensingState = (assigner = ''): string =>
  /^[A-Z]{2}$/.test(assigner) ? assigner : '';

const licencesOf = (
  licences: ReadonlyArray<readonly [string, string]>,
): ReadonlyMap<string, string> =>
  new Map(licences.filter(([value]) => isUsableLicence(value)));

const texts = (
  values: ReadonlyArray<string | undefined>,
  isUsable: (value: string) => boolean = (value) => value !== '',
): ReadonlySet<string> =>
  new Set(
    values.filter(
      (value): value is string => value !== undefined && isUsable(value),
    ),
  );

interface Place {
  city?: string;
  state?: string;
  zip?: string;
}

/**
 * An address line identifies a place only together with its zip, or its city
 * and state. The flat is apart from it, so that it does not matter who leaves
 * the number of the flat out.
 */
function streetsOf(
  lines: ReadonlyArray<string | undefined>,
  { city, state, zip }: Place,
): Array<[street: string, flat: string]> {
  const { line: words, flat } = lineOf(lines);
  const line = words.join(' ');
  if (!/\d/.test(line) || !/[^\d\s]/.test(line)) return [];
  const town = nameWords(city).join(' ');
  return [
    ...(isUsableZip(zip?.slice(0, 5) ?? '')
      ? [[`${line}|${zip?.slice(0, 5)}`, flat] as [string, string]]
      : []),
    ...(town !== '' && state
      ? [
          [`${line}|${town}|${plainLetters(state.trim())}`, flat] as [
            string,
            string,
          ],
        ]
      : []),
  ];
}

function placeOf(
  lines: ReadonlyArray<string | undefined>,
  place: Place,
): PersonPlace[] {
  const { line, flat } = lineOf(lines);
  const [house = '', ...rest] = line;
  const street = rest.filter((word) => !DIRECTIONS.has(word)).join('');
  if (!/^\d/.test(house) || street.length < STREET_FROM_LETTERS) return [];
  return [
    {
      streets: streetsOf(lines, place).map(([each]) => each),
      house,
      flat,
      street,
      town: nameWords(place.city).join(''),
      zip: place.zip?.slice(0, 5) ?? '',
    },
  ];
}
const STREET_FROM_LETTERS = 5;
const DIRECTIONS: ReadonlySet<string> = new Set(['n', 's', 'e', 'w']);

/**
 * The words of an address line, and the flat apart from it, however it is
 * written: "Apt 4", "#4", or a number at the end. None of an institution, where
 * people live who are no household.
 */
function lineOf(lines: ReadonlyArray<string | undefined>): {
  line: string[];
  flat: string;
} {
  const written = nameWords(
    lines.filter(Boolean).join(' ').replaceAll('#', ' unit '),
  );
  if (isSharedPlace(written)) return { line: [], flat: '' };
  const all = written.flatMap((word) => {
    const joined = /^(?:apt|ste|unit)(\d.*)$/.exec(word)?.[1];
    if (joined !== undefined) return [UNIT, joined];
    return [(STREET_WORDS.get(word) ?? word).replace(/^0+(?=\d)/, '')];
  });
  const unit = all.indexOf(UNIT);
  const line = unit > 0 ? all.slice(0, unit) : all;
  const flat = unit > 0 ? all.slice(unit).filter((word) => word !== UNIT) : [];
  const isFlat =
    line.length > 3 &&
    /^(\d+[a-z]?|[a-z]\d*)$/.test(line.at(-1) ?? '') &&
    STREET_KINDS.has(line.at(-2) ?? '') &&
    !DIRECTIONS.has(line.at(-1) ?? '');
  if (!isFlat) return { line, flat: flat.join('') };
  return {
    line: line.slice(0, -1),
    flat: [line.at(-1), ...flat].join(''),
  };
}

const UNIT = 'unit';
/**
 * What a street ends with; a number after it is that of a flat. (After "Hwy" or
 * "Route" it would be the street's.)
 */
const STREET_KINDS: ReadonlySet<string> = new Set([
  'st',
  'ave',
  'dr',
  'ln',
  'pl',
  'ct',
  'cir',
  'blvd',
  'pkwy',
  'ter',
  'sq',
  'trl',
  'xing',
  'way',
  'hill',
  'park',
  'point',
  'alley',
  'pass',
]);
/** The abbreviations of the postal service that are written out most often. */
const STREET_WORDS: ReadonlyMap<string, string> = new Map([
  ['street', 'st'],
  ['str', 'st'],
  ['avenue', 'ave'],
  ['av', 'ave'],
  ['road', 'rd'],
  ['drive', 'dr'],
  ['lane', 'ln'],
  ['place', 'pl'],
  ['court', 'ct'],
  ['circle', 'cir'],
  ['boulevard', 'blvd'],
  ['parkway', 'pkwy'],
  ['terrace', 'ter'],
  ['highway', 'hwy'],
  ['square', 'sq'],
  ['trail', 'trl'],
  ['crossing', 'xing'],
  ['junction', 'jct'],
  ['north', 'n'],
  ['south', 's'],
  ['east', 'e'],
  ['west', 'w'],
  ['apartment', 'unit'],
  ['apt', 'unit'],
  ['suite', 'unit'],
  ['ste', 'unit'],
  ['floor', 'unit'],
  ['fl', 'unit'],
  ['room', 'unit'],
  ['rm', 'unit'],
  ['no', 'unit'],
]);

function isPhone(system: string | undefined): boolean {
  return system === undefined || system === 'phone' || system === 'sms';
}

function lastTenDigits(value: string | undefined): string {
  return (value ?? '')
    .replace(/(?:x|ext).*$/i, '')
    .replace(/\D/g, '')
    .slice(-10);
}

const SSN_SYSTEMS = new Set([
  'http://hl7.org/fhir/sid/us-ssn',
  'urn:oid:2.16.840.1.113883.4.1',
]);
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
