import type { PatientDemographics } from '../../../../contract/patients.ts';
import type {
  Address,
  Contact,
  Demographics,
  PersonalIdentifier,
} from './demographics.ts';

/**
 * Converts a request to the stored form: normalised spaces and Unicode, no
 * duplicates.
 */
export function normaliseDemographics(
  input: PatientDemographics,
): Demographics {
  return {
    firstNames: input.firstName.map(normaliseText),
    lastNames: input.lastName.map(normaliseText),
    dob: input.dob,
    gender: input.genderAtBirth,
    addresses: withoutDuplicates(input.address.map(normaliseAddress), ADDRESS),
    contacts: withoutDuplicates(
      (input.contact ?? []).map(normaliseContact),
      CONTACT,
    ),
    personalIdentifiers: withoutDuplicates(
      (input.personalIdentifiers ?? []).map(normaliseIdentifier),
      IDENTIFIER,
    ),
  };
}

/**
 * Merges an update into known demographics: new addresses and contacts come
 * first, known ones are kept after them.
 */
export function mergeDemographics(
  known: Demographics,
  update: Demographics,
): Demographics {
  return {
    // Equal by the matching rule; the spelling stored first is kept.
    firstNames: known.firstNames,
    lastNames: known.lastNames,
    dob: known.dob,
    gender: known.gender,
    addresses: newFirst(update.addresses, known.addresses, ADDRESS),
    contacts: newFirst(update.contacts, known.contacts, CONTACT),
    personalIdentifiers: update.personalIdentifiers.every((item, index) =>
      isSameJson(item, known.personalIdentifiers[index]),
    )
      ? known.personalIdentifiers
      : withoutDuplicates(
          [...known.personalIdentifiers, ...update.personalIdentifiers],
          IDENTIFIER,
        ),
  };
}

/**
 * ASCII with single spaces inside. Most texts are like this and need no
 * normalisation.
 */
const PLAIN_TEXT = /^[!-~]+(?: [!-~]+)*$/;

/** Unicode NFC, trimmed, with single spaces. */
export function normaliseText(text: string): string {
  if (PLAIN_TEXT.test(text)) return text;
  return text.normalize('NFC').trim().replaceAll(/\s+/gu, ' ');
}

/** A form for comparison that ignores case, Unicode composition and spaces. */
export function casefold(text: string): string {
  if (PLAIN_TEXT.test(text)) return text.toLowerCase();
  // Upper case first, which also makes ß equal to ss, and final sigma to sigma.
  return normaliseText(text).toUpperCase().toLowerCase().normalize('NFC');
}

/** Returns the same object if it needs no change, which is the usual case. */
function normaliseAddress(
  address: PatientDemographics['address'][number],
): Address {
  const line1 = normaliseText(address.addressLine1);
  const line2 = address.addressLine2 && normaliseText(address.addressLine2);
  const city = normaliseText(address.city);
  if (
    line1 === address.addressLine1 &&
    line2 === address.addressLine2 &&
    line2 !== '' &&
    city === address.city
  )
    return address;
  const { state, zip, country } = address;
  return {
    addressLine1: line1,
    ...(line2 ? { addressLine2: line2 } : {}),
    city,
    state,
    zip,
    country,
  };
}

function normaliseContact(contact: Contact): Contact {
  const { phone, email } = contact;
  if (email === undefined) return { phone };
  if (PLAIN_TEXT.test(email)) return contact;
  return phone === undefined
    ? { email: normaliseText(email) }
    : { phone, email: normaliseText(email) };
}

function normaliseIdentifier(
  identifier: PersonalIdentifier,
): PersonalIdentifier {
  const { type, state, period, assigner } = identifier;
  const value = normaliseText(identifier.value);
  if (state === undefined && period === undefined && assigner === undefined)
    return { type, value };
  return {
    type,
    value,
    ...(state === undefined ? {} : { state }),
    ...(period === undefined ? {} : { period }),
    ...(assigner === undefined ? {} : { assigner: normaliseText(assigner) }),
  };
}

/** How to detect duplicates in a list. */
interface Comparison<T> {
  /**
   * A cheap value that is equal for duplicates, and usually different
   * otherwise.
   */
  quickKey(item: T): string;
  /** Equal if and only if the items are duplicates. */
  identity(item: T): string;
}

const ADDRESS: Comparison<Address> = {
  quickKey: ({ zip }) => zip,
  identity: ({ addressLine1, addressLine2, city, state, zip }) =>
    JSON.stringify([
      casefold(addressLine1),
      casefold(addressLine2 ?? ''),
      casefold(city),
      state,
      zip,
    ]),
};

/** Whether both are one address, in whatever case it is written. */
export const isSameAddress = (left: Address, right: Address): boolean =>
  left === right ||
  (left.zip === right.zip &&
    ADDRESS.identity(left) === ADDRESS.identity(right));

const CONTACT: Comparison<Contact> = {
  quickKey: ({ phone }) => phone ?? '',
  identity: ({ phone, email }) =>
    JSON.stringify([phone ?? '', casefold(email ?? '')]),
};

const IDENTIFIER: Comparison<PersonalIdentifier> = {
  quickKey: ({ type }) => type,
  identity: ({ type, value, state }) =>
    JSON.stringify([type, casefold(value), state ?? '']),
};

function newFirst<T>(
  update: readonly T[],
  known: T[],
  comparison: Comparison<T>,
): T[] {
  // Usually nothing is new: the known list, which has no duplicates, already
  // begins with the update.
  if (update.every((item, index) => isSameJson(item, known[index])))
    return known;
  return withoutDuplicates([...update, ...known], comparison);
}

/**
 * Keeps the first of each group of duplicates; returns the same list if there
 * are none.
 */
function withoutDuplicates<T>(
  items: T[],
  { quickKey, identity }: Comparison<T>,
): T[] {
  if (areDifferent(items, quickKey)) return items;
  const seen = new Map<string, T>();
  for (const item of items) {
    const key = identity(item);
    if (!seen.has(key)) seen.set(key, item);
  }
  return [...seen.values()];
}

/** Compares each with each while there are few, which is the usual case. */
function areDifferent<T>(
  items: readonly T[],
  quickKey: (item: T) => string,
): boolean {
  if (items.length > 4)
    return new Set(items.map(quickKey)).size === items.length;
  return items.every((item, place) => {
    for (let before = 0; before < place; before += 1)
      if (quickKey(items[before] as T) === quickKey(item)) return false;
    return true;
  });
}

/**
 * Whether two values are equal as JSON, ignoring the order of members and
 * members that are undefined.
 */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right))
    return (
      left.length === right.length &&
      left.every((item, index) => isSameJson(item, right[index]))
    );
  if (!isMembers(left) || !isMembers(right)) return false;
  for (const name in left)
    if (!isSameJson(left[name], right[name])) return false;
  for (const name in right)
    if (right[name] !== undefined && left[name] === undefined) return false;
  return true;
}

const isMembers = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/**
 * The ids of a patient at other systems, by system. Stored without duplicates,
 * and without systems that have no id.
 */
export type AdditionalIdentifiers = Record<string, string[]>;

/** Converts a request to the stored form. */
export function normaliseAdditionalIdentifiers(
  given: PatientDemographics['additionalIdentifiers'] = {},
): AdditionalIdentifiers {
  return uniteAdditionalIdentifiers({}, given);
}

/**
 * The union for each system: known ids first. Ids are case-sensitive, because a
 * system may distinguish them by case.
 */
export function uniteAdditionalIdentifiers(
  known: AdditionalIdentifiers,
  given: PatientDemographics['additionalIdentifiers'],
): AdditionalIdentifiers {
  if (given === undefined) return known;
  const united = { ...known };
  for (const [system, ids = []] of Object.entries(given)) {
    const all = new Set([...(known[system] ?? []), ...ids.map(normaliseText)]);
    if (all.size > 0) united[system] = [...all];
  }
  return united;
}

/** The number of ids at the system that has most of them. */
export const mostIdsAtOneSystem = (
  identifiers: AdditionalIdentifiers,
): number =>
  Math.max(0, ...Object.values(identifiers).map((ids) => ids.length));
