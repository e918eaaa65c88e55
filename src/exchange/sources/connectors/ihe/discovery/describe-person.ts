import type {
  DiscoveryCriteria,
  PersonNameParts,
  PostalAddress,
  WantedAttribute,
} from '#ihe';
import { SSN_ROOT } from '#ihe';
import type {
  Demographics,
  Gender,
} from '../../../../people/patients/rules/demographics.ts';

/** HL7's administrative gender. An unknown one is not asked by. */
const GENDERS = {
  M: ['M'],
  F: ['F'],
  O: ['UN'],
  U: [],
} as const satisfies Record<Gender, readonly string[]>;

/**
 * What a community is asked for a person by: all demographics that communities
 * usually match by. The SSN is sent only to one that wants it.
 */
export function criteriaOf(
  person: Demographics,
  wanted: ReadonlySet<WantedAttribute>,
): DiscoveryCriteria {
  return {
    genders: GENDERS[person.gender],
    birthTimes: [person.dob.replaceAll('-', '')],
    names: namesOf(person),
    addresses: person.addresses.map(addressOf),
    telecoms: telecomsOf(person),
    ids: wanted.has('ssn') ? ssnsOf(person) : [],
    birthPlaceAddresses: [],
    birthPlaceNames: [],
    mothersMaidenNames: [],
    principalCareProviderIds: [],
  };
}

/** What of the wanted attributes a question has not had so far, and we have. */
export function furtherAttributes(
  person: Demographics,
  wanted: readonly WantedAttribute[],
): Set<WantedAttribute> {
  const isKnown = ssnsOf(person).length > 0;
  return new Set(wanted.filter((each) => each === 'ssn' && isKnown));
}

/**
 * Several last names may be one double name or alternatives, so both are sent.
 */
function namesOf({ firstNames, lastNames }: Demographics): PersonNameParts[] {
  const families =
    lastNames.length > 1 ? [lastNames.join(' '), ...lastNames] : lastNames;
  return families.map((family) => ({
    family: [family],
    given: firstNames,
    prefix: [],
    suffix: [],
  }));
}

const addressOf = (
  address: Demographics['addresses'][number],
): PostalAddress => ({
  lines: [address.addressLine1, address.addressLine2 ?? ''].filter(
    (line) => line !== '',
  ),
  city: address.city,
  state: address.state,
  zip: address.zip,
  country: address.country,
});

const telecomsOf = ({ contacts }: Demographics): string[] =>
  contacts.flatMap(({ phone, email }) => [
    ...(phone === undefined ? [] : [`tel:${phone}`]),
    ...(email === undefined ? [] : [`mailto:${email}`]),
  ]);

const ssnsOf = ({ personalIdentifiers }: Demographics) =>
  personalIdentifiers
    .filter(({ type }) => type === 'ssn')
    .map(({ value }) => ({ root: SSN_ROOT, extension: value }));
