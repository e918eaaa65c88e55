import type { PatientDemographics } from '../../contract/patient.ts';
import type { Address, Contact, Demographics, PersonalIdentifier } from './demographics.ts';

/** What a caller sent, as the exchange keeps it: one spelling of blanks and of composed letters, no doubles. */
export function normaliseDemographics(input: PatientDemographics): Demographics {
  return {
    firstNames: input.firstName.map(normaliseText),
    lastNames: input.lastName.map(normaliseText),
    dob: input.dob,
    gender: input.genderAtBirth,
    addresses: withoutDoubles(input.address.map(normaliseAddress), addressIdentity),
    contacts: withoutDoubles((input.contact ?? []).map(normaliseContact), contactIdentity),
    personalIdentifiers: withoutDoubles(
      (input.personalIdentifiers ?? []).map(normaliseIdentifier),
      identifierIdentity,
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
    addresses: withoutDoubles([...update.addresses, ...known.addresses], addressIdentity),
    contacts: withoutDoubles([...update.contacts, ...known.contacts], contactIdentity),
    personalIdentifiers: withoutDoubles(
      [...known.personalIdentifiers, ...update.personalIdentifiers],
      identifierIdentity,
    ),
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

function normaliseAddress(address: PatientDemographics['address'][number]): Address {
  const line2 = normaliseText(address.addressLine2 ?? '');
  return {
    addressLine1: normaliseText(address.addressLine1),
    ...(line2 === '' ? {} : { addressLine2: line2 }),
    city: normaliseText(address.city),
    state: address.state,
    zip: address.zip,
    country: address.country,
  };
}

function normaliseContact({ phone, email }: Contact): Contact {
  return {
    ...(phone === undefined ? {} : { phone }),
    ...(email === undefined ? {} : { email: normaliseText(email) }),
  };
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

function addressIdentity(address: Address): string {
  const { addressLine1, addressLine2, city, state, zip } = address;
  return JSON.stringify([casefold(addressLine1), casefold(addressLine2 ?? ''), casefold(city), state, zip]);
}

const contactIdentity = ({ phone, email }: Contact): string =>
  JSON.stringify([phone ?? '', casefold(email ?? '')]);

const identifierIdentity = ({ type, value, state }: PersonalIdentifier): string =>
  JSON.stringify([type, casefold(value), state ?? '']);

/** The first of each that are the same. */
function withoutDoubles<T>(items: readonly T[], identity: (item: T) => string): T[] {
  if (items.length < 2) return [...items];
  const seen = new Map<string, T>();
  for (const item of items) {
    const key = identity(item);
    if (!seen.has(key)) seen.set(key, item);
  }
  return [...seen.values()];
}
