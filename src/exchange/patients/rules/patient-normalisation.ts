import type { PatientDemographics } from '../../../contract/patients.ts';
import type { Address, Contact, Demographics, PersonalIdentifier } from './demographics.ts';
import { isSame } from './same-value.ts';

/** What a caller sent, as the exchange keeps it: one spelling of blanks and of composed letters, no doubles. */
export function normaliseDemographics(input: PatientDemographics): Demographics {
  return {
    firstNames: input.firstName.map(normaliseText),
    lastNames: input.lastName.map(normaliseText),
    dob: input.dob,
    gender: input.genderAtBirth,
    addresses: withoutDoubles(input.address.map(normaliseAddress), ADDRESS),
    contacts: withoutDoubles((input.contact ?? []).map(normaliseContact), CONTACT),
    personalIdentifiers: withoutDoubles(
      (input.personalIdentifiers ?? []).map(normaliseIdentifier),
      IDENTIFIER,
    ),
  };
}

/** What is known of a person together with what is new: new addresses and contacts first, known ones kept after. */
export function mergeDemographics(known: Demographics, update: Demographics): Demographics {
  return {
    // Equal by the matching rule; the spelling that was stored first stays.
    firstNames: known.firstNames,
    lastNames: known.lastNames,
    dob: known.dob,
    gender: known.gender,
    addresses: newFirst(update.addresses, known.addresses, ADDRESS),
    contacts: newFirst(update.contacts, known.contacts, CONTACT),
    personalIdentifiers: update.personalIdentifiers.every((item, index) =>
      isSame(item, known.personalIdentifiers[index]),
    )
      ? known.personalIdentifiers
      : withoutDoubles([...known.personalIdentifiers, ...update.personalIdentifiers], IDENTIFIER),
  };
}

/** ASCII with single blanks inside: most of what comes, and nothing is to be done. */
const PLAIN_TEXT = /^[!-~]+(?: [!-~]+)*$/;

/** Composed letters, no blanks at the ends, single blanks inside. */
export function normaliseText(text: string): string {
  if (PLAIN_TEXT.test(text)) return text;
  return text.normalize('NFC').trim().replaceAll(/\s+/gu, ' ');
}

/** For comparing only: no difference of case, of composed letters or of blanks. */
export function casefold(text: string): string {
  if (PLAIN_TEXT.test(text)) return text.toLowerCase();
  // Upper case first: it also unites ß with ss and final with inner sigma.
  return normaliseText(text).toUpperCase().toLowerCase().normalize('NFC');
}

/** The address itself when it is as it should be, like most are. */
function normaliseAddress(address: PatientDemographics['address'][number]): Address {
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
  return { addressLine1: line1, ...(line2 ? { addressLine2: line2 } : {}), city, state, zip, country };
}

function normaliseContact({ phone, email }: Contact): Contact {
  if (email === undefined) return { phone };
  return phone === undefined ? { email: normaliseText(email) } : { phone, email: normaliseText(email) };
}

function normaliseIdentifier(identifier: PersonalIdentifier): PersonalIdentifier {
  const { type, state, period, assigner } = identifier;
  return {
    type,
    value: normaliseText(identifier.value),
    ...(state === undefined ? {} : { state }),
    ...(period === undefined ? {} : { period }),
    ...(assigner === undefined ? {} : { assigner: normaliseText(assigner) }),
  };
}

/** When two things of a kind are the same. */
interface Kind<T> {
  /** Equal for the same things; cheap, and mostly enough to tell others apart. */
  clue(item: T): string;
  identity(item: T): string;
}

const ADDRESS: Kind<Address> = {
  clue: ({ zip }) => zip,
  identity: ({ addressLine1, addressLine2, city, state, zip }) =>
    JSON.stringify([casefold(addressLine1), casefold(addressLine2 ?? ''), casefold(city), state, zip]),
};

const CONTACT: Kind<Contact> = {
  clue: ({ phone }) => phone ?? '',
  identity: ({ phone, email }) => JSON.stringify([phone ?? '', casefold(email ?? '')]),
};

const IDENTIFIER: Kind<PersonalIdentifier> = {
  clue: ({ type }) => type,
  identity: ({ type, value, state }) => JSON.stringify([type, casefold(value), state ?? '']),
};

function newFirst<T>(update: readonly T[], known: T[], kind: Kind<T>): T[] {
  // Mostly nothing is new: the known ones, which have no doubles, begin with these already.
  if (update.every((item, index) => isSame(item, known[index]))) return known;
  return withoutDoubles([...update, ...known], kind);
}

/** The first of each that are the same. */
function withoutDoubles<T>(items: readonly T[], { clue, identity }: Kind<T>): T[] {
  if (items.length < 2 || new Set(items.map(clue)).size === items.length) return [...items];
  const seen = new Map<string, T>();
  for (const item of items) {
    const key = identity(item);
    if (!seen.has(key)) seen.set(key, item);
  }
  return [...seen.values()];
}
