import {
  canonical,
  canonicalJson,
  comparableText,
  conceptText,
  type Json,
  meaningOf,
  objectsOf,
  textOf,
} from '#record-summary/fhir';
import type {
  Demographics,
  Gender,
  PersonalIdentifier,
} from '../../people/patients/rules/demographics.ts';
import { labelsOf, type Member } from './fold.ts';
import { type Resolve, rewriteReferences } from './references.ts';

/** The person as described by the caller. */
export type Person = Demographics & {
  patientId: string;
  externalId?: string;
  formerExternalIds?: readonly string[];
};

export const FHIR_GENDERS: Record<Gender, string> = {
  M: 'male',
  F: 'female',
  O: 'other',
  U: 'unknown',
};

/**
 * Taken from the first source that has them. A source's administrative elements
 * (active, link, …) are not taken.
 */
const TAKEN = ['maritalStatus', 'contact', 'generalPractitioner'] as const;
const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-';
/** What FHIR has once, and sources may state differently. */
const ONCE = ['maritalStatus', 'race', 'ethnicity'] as const;
const ALSO_STATED = 'urn:medical-exchange:also-stated';

/**
 * Builds the consolidated Patient from the caller's demographics and the
 * sources' Patients. Names, addresses, telecoms, identifiers and languages are
 * united. An element that can occur only once comes from the caller, otherwise
 * from the source with the highest rank; another marital status, race or
 * ethnicity stands beside it in an extension that names its source.
 *
 * @param members the sources' Patients, the leading one first; may be empty
 */
export function foldPatient(
  person: Person,
  members: readonly Member[],
  resolve: Resolve,
): Json {
  const theirs = members.map((member) =>
    rewriteReferences(member, member.content, person.patientId, resolve),
  );
  const first = (element: string): Json => {
    const value = theirs
      .map((patient) => patient[element])
      .find((each) => each !== undefined);
    return value === undefined ? {} : { [element]: value };
  };
  const all = (element: string) =>
    theirs.flatMap((patient) => objectsOf(patient[element]));
  const gender =
    person.gender === 'U'
      ? textOf(first('gender').gender)
      : FHIR_GENDERS[person.gender];
  const name = withoutDuplicates(
    [ourName(person), ...all('name')],
    nameIdentity,
  );
  const address = withoutDuplicates(
    [...ourAddresses(person), ...all('address')],
    addressIdentity,
  );
  const telecom = withoutDuplicates(
    [...ourTelecom(person), ...all('telecom')],
    telecomIdentity,
  );
  const identifier = withoutDuplicates(
    [...ourIdentifiers(person), ...all('identifier')],
    identifierIdentity,
  );
  const extension = withoutDuplicates(all('extension'), ({ url }) =>
    textOf(url),
  ).concat(alsoStated(members));
  const communication = withoutDuplicates(
    all('communication'),
    ({ language }) => meaningOf(language) ?? canonicalJson(language),
  );
  const meta = {
    ...labelsOf(members),
    ...(members[0] === undefined ? {} : { source: members[0].fileName }),
  };
  return canonical({
    resourceType: 'Patient',
    id: person.patientId,
    // FHIR forbids empty elements.
    ...(Object.keys(meta).length === 0 ? {} : { meta }),
    name,
    birthDate: person.dob,
    gender: gender ?? 'unknown',
    ...some({ address, telecom, identifier, extension, communication }),
    ...deceased(theirs),
    ...Object.assign({}, ...TAKEN.map(first)),
  }) as Json;
}

/**
 * What sources say of the person that differs from what the Patient has from
 * another one, in words and with the source.
 */
function alsoStated(members: readonly Member[]): Json[] {
  return ONCE.flatMap((element) => {
    const stated = members.flatMap(({ source, content }) => {
      const own =
        element === 'maritalStatus'
          ? content[element]
          : extensionOf(content, element);
      const meaning = meaningOf(own);
      const words = conceptText(own);
      return meaning === undefined || words === undefined
        ? []
        : [{ source, meaning, words }];
    });
    const others = stated.filter(
      ({ meaning }) => meaning !== stated[0]?.meaning,
    );
    return withoutDuplicates(
      others,
      ({ source, meaning }) => `${String(source)} ${String(meaning)}`,
    ).map(({ source, words }) => ({
      url: ALSO_STATED,
      extension: [
        { url: 'element', valueCode: element },
        { url: 'source', valueCode: source },
        { url: 'value', valueString: words },
      ],
    }));
  });
}

/** Race or ethnicity of US Core as a concept: its codes and its text. */
function extensionOf({ extension }: Json, name: string): Json | undefined {
  const found = objectsOf(extension).find(
    ({ url }) => url === `${US_CORE}${name}`,
  );
  const parts = objectsOf(found?.extension);
  const coding = parts.flatMap(({ valueCoding }) => objectsOf(valueCoding));
  return (
    found && {
      coding,
      text: parts.map(({ valueString }) => textOf(valueString)).find(Boolean),
    }
  );
}

/**
 * The items without duplicates and without empty ones; the first of equal items
 * is kept.
 */
function withoutDuplicates(
  items: readonly Json[],
  identity: (item: Json) => string | undefined,
): Json[] {
  const byIdentity = new Map<string, Json>();
  for (const item of items) {
    const key = identity(item);
    if (key !== undefined && !byIdentity.has(key)) byIdentity.set(key, item);
  }
  return [...byIdentity.values()];
}

const some = (lists: Record<string, Json[]>): Json =>
  Object.fromEntries(
    Object.entries(lists).filter(([, list]) => list.length > 0),
  );

/**
 * A time of death is more informative than the mere fact, so it is preferred.
 */
function deceased(theirs: readonly Json[]): Json {
  const at = theirs
    .map(({ deceasedDateTime }) => textOf(deceasedDateTime))
    .find((time) => time !== undefined);
  if (at !== undefined) return { deceasedDateTime: at };
  return theirs.some(({ deceasedBoolean }) => deceasedBoolean === true)
    ? { deceasedBoolean: true }
    : {};
}

const ourName = ({ firstNames, lastNames }: Person): Json => ({
  use: 'official',
  family: lastNames.join(' '),
  given: firstNames,
});

const ourAddresses = ({ addresses }: Person): Json[] =>
  addresses.map(
    ({ addressLine1, addressLine2, city, state, zip, country }, index) => ({
      ...(index === 0 ? { use: 'home' } : {}),
      line:
        addressLine2 === undefined
          ? [addressLine1]
          : [addressLine1, addressLine2],
      city,
      state,
      postalCode: zip,
      country,
    }),
  );

const ourTelecom = ({ contacts }: Person): Json[] =>
  contacts.flatMap(({ phone, email }) => [
    ...(phone === undefined ? [] : [{ system: 'phone', value: phone }]),
    ...(email === undefined ? [] : [{ system: 'email', value: email }]),
  ]);

function ourIdentifiers({
  personalIdentifiers,
  externalId,
  formerExternalIds = [],
}: Person): Json[] {
  const known =
    externalId === undefined
      ? formerExternalIds
      : [externalId, ...formerExternalIds];
  const external = known.map((value) => ({
    use: value === externalId ? 'secondary' : 'old',
    system: 'urn:medical-exchange:external-id',
    value,
  }));
  return [...personalIdentifiers.map(personalIdentifier), ...external];
}

function personalIdentifier({ type, value, state }: PersonalIdentifier): Json {
  const [code, system] =
    type === 'ssn'
      ? ['SS', 'http://hl7.org/fhir/sid/us-ssn']
      : [
          'DL',
          `urn:medical-exchange:drivers-license${state === undefined ? '' : `:${state}`}`,
        ];
  return {
    type: {
      coding: [
        { system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code },
      ],
    },
    system,
    value,
  };
}

/**
 * Compares SSNs and driver's licences without punctuation and without their
 * system, which sources write differently.
 */
function identifierIdentity({ system, value, type }: Json): string | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  const kind = objectsOf(type)
    .flatMap(({ coding }) => objectsOf(coding))
    .find(({ code }) => code === 'SS' || code === 'DL')?.code;
  return kind === undefined
    ? canonicalJson([system, text])
    : canonicalJson([kind, text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')]);
}

function nameIdentity({ family, given, text }: Json): string | undefined {
  const words = [
    ...(Array.isArray(given) ? (given as unknown[]) : []),
    family,
  ].map(comparableText);
  const known = words.filter((word) => word !== undefined);
  return known.length > 0 ? known.join(' ') : comparableText(text);
}

function addressIdentity({
  line,
  city,
  postalCode,
  text,
}: Json): string | undefined {
  const lines = (Array.isArray(line) ? (line as unknown[]) : [])
    .map(comparableText)
    .filter((part) => part !== undefined);
  if (lines.length === 0 && postalCode === undefined && city === undefined)
    return comparableText(text);
  return canonicalJson([
    lines.join(' '),
    textOf(postalCode)?.slice(0, 5) ?? comparableText(city) ?? '',
  ]);
}

function telecomIdentity({ system, value }: Json): string | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  const digits = text.replaceAll(/\D/g, '').slice(-10);
  return text.includes('@') || digits.length < 10
    ? `${String(system)} ${text.toLowerCase()}`
    : `number ${digits}`;
}
