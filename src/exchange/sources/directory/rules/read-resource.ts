import { isNpi, usStateSchema } from '../../../../contract/primitives.ts';
import {
  codesOfConcepts,
  extensionsNamed,
  isInUseAt,
  isObject,
  type LenientObject,
  lenientNumber,
  lenientObjects,
  lenientText,
  referencedId,
} from './lenient-json.ts';
import {
  addressesOf,
  type EndpointAddresses,
  readEndpoint,
  type Transaction,
} from './read-endpoint.ts';
import { Remarks } from './remarks.ts';
import { stateCode } from './us-states.ts';

/** What a directory says of one organization, in our form. */
export interface DirectoryEntry extends EndpointAddresses {
  id: string;
  name: string | null;
  active: boolean;
  parentId: string | null;
  managedBy: string | null;
  /** An OID, without `urn:oid:`. */
  homeCommunity: string | null;
  npi: string | null;
  /** Such as Implementer, QHIN, Participant, Child. */
  kinds: string[];
  /** Such as CQ, eHx, RCE. */
  networks: string[];
  purposes: string[];
  city: string | null;
  /** Two letters. */
  state: string | null;
  /** 5 digits. */
  zip: string | null;
  latitude: number | null;
  longitude: number | null;
  /** Of endpoints and locations that are resources of their own. */
  endpointIds: string[];
  locationIds: string[];
}

/** An endpoint or a location that is a resource of its own. */
export interface DirectoryPart {
  id: string;
  entryId: string | null;
  transaction: Transaction | null;
  address: string | null;
  latitude: number | null;
  longitude: number | null;
}

export type ReadItem =
  | {
      kind: 'entry';
      entry: DirectoryEntry;
      updatedMs: number;
      remarks: string[];
    }
  | { kind: 'part'; part: DirectoryPart; remarks: string[] }
  | { kind: 'ignored'; reason: string }
  | { kind: 'refused'; id?: string; reason: string };

const ID_LENGTH_MAX = 200;
const TEXT_LENGTH_MAX = 300;
const LIST_MAX = 50;

/**
 * Reads one resource of a directory: what is missing or malformed is left out,
 * and a remark says so. Only what cannot be told from others, or is no
 * organization, has no entry.
 *
 * @param at what has ended by then is not in use; left out, nothing has
 */
export function readDirectoryResource(
  text: string,
  at = new Date(0),
): ReadItem {
  const parsed = parseJson(text);
  if (!isObject(parsed))
    return { kind: 'refused', reason: 'is no JSON object' };
  const resource = isObject(parsed.resource) ? parsed.resource : parsed;
  const type = lenientText(resource.resourceType);
  const context = {
    at,
    entryAddress: referencedId({ reference: parsed.fullUrl }),
  };
  switch (type) {
    case 'Organization':
      return readOrganization(resource, context);
    case 'Endpoint':
    case 'Location':
      return readPart(resource, context);
    case 'Bundle':
      return {
        kind: 'refused',
        reason:
          'is a Bundle within another resource, whose entries are not read',
      };
    case undefined:
      return { kind: 'refused', reason: 'has no resourceType' };
    default:
      return {
        kind: 'ignored',
        reason: 'is no organization, endpoint or location',
      };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What decides besides a resource itself. */
interface ReadContext {
  at: Date;
  /** The id in the address that its Bundle gives it. */
  entryAddress: string | undefined;
}

function readOrganization(
  resource: LenientObject,
  { at, entryAddress }: ReadContext,
): ReadItem {
  const remarks = new Remarks();
  const identifiers = lenientObjects(resource.identifier).filter((each) =>
    isInUseAt(each, at),
  );
  const ownId = lenientText(resource.id);
  const id = ownId ?? homeCommunityIn(identifiers) ?? entryAddress;
  if (id === undefined || id.length > ID_LENGTH_MAX)
    return { kind: 'refused', reason: 'has no id' };
  if (ownId === undefined)
    remarks.say('has no id: its home community or address is taken');

  const contained = lenientObjects(resource.contained);
  const endpoints = contained.filter(isOfType('Endpoint'));
  const location = containedLocation(resource, contained);
  const entry: DirectoryEntry = {
    id,
    name: bounded(lenientText(resource.name)) ?? remarks.say('has no name'),
    active: isActive(resource, remarks),
    parentId: parentOf(resource, remarks),
    managedBy: managingOrganization(resource) ?? null,
    homeCommunity: homeCommunityOf(identifiers, id, remarks),
    npi: npiOf(identifiers, remarks),
    kinds: listed(codesOfConcepts(resource.type)),
    networks: listed(
      extensionsNamed(resource, 'domains').flatMap((each) =>
        codesOfConcepts([each.valueCoding, each.valueCodeableConcept]),
      ),
    ),
    purposes: listed(
      extensionsNamed(resource, 'purposesofuse').flatMap((each) =>
        codesOfConcepts([each.valueCodeableConcept, each.valueCoding]),
      ),
    ),
    ...placeOf(resource, at, remarks),
    ...positionOf(location, remarks),
    ...addressesOf(endpoints, at, remarks),
    endpointIds: listed(idsOf(resource.endpoint)),
    locationIds: listed(
      lenientObjects(resource.address).flatMap((address) =>
        extensionsNamed(address, 'orglocation').flatMap((each) =>
          idsOf(each.valueReference),
        ),
      ),
    ),
  };
  const updatedMs = isObject(resource.meta)
    ? Date.parse(lenientText(resource.meta.lastUpdated) ?? '')
    : Number.NaN;
  return {
    kind: 'entry',
    entry,
    updatedMs: Number.isNaN(updatedMs) ? 0 : updatedMs,
    remarks: remarks.list,
  };
}

function isActive({ active }: LenientObject, remarks: Remarks): boolean {
  if (typeof active === 'boolean') return active;
  const word = lenientText(active)?.toLowerCase() ?? '';
  if (['true', 'yes', 'y', '1', 'active'].includes(word)) return true;
  if (['false', 'no', 'n', '0', 'inactive'].includes(word)) return false;
  remarks.say('does not say whether it is active: taken as active');
  return true;
}

/** By a reference, or by the OID of an identifier. */
function parentOf({ partOf }: LenientObject, remarks: Remarks): string | null {
  if (partOf === undefined || partOf === null) return null;
  const id = referencedId(partOf);
  if (id !== undefined && !id.startsWith('#')) return id;
  const { identifier } = isObject(partOf) ? partOf : {};
  const [oid] = lenientObjects(identifier).flatMap(
    ({ value }) => plainOid(lenientText(value) ?? '') ?? [],
  );
  return (
    oid ?? remarks.say('is part of something that it does not name by an id')
  );
}

const managingOrganization = (resource: LenientObject): string | undefined =>
  extensionsNamed(resource, 'org-managing-org')
    .map(({ valueReference }) => referencedId(valueReference))
    .find((id) => id !== undefined);

const OID = /^[0-2](\.(0|[1-9]\d*))+$/;

const plainOid = (text: string): string | undefined => {
  const oid = text.replace(/^urn:oid:/i, '').trim();
  return OID.test(oid) && oid.length <= ID_LENGTH_MAX ? oid : undefined;
};

const isIdentifierOf =
  (code: string) =>
  ({ type }: LenientObject): boolean =>
    codesOfConcepts(type).some((each) => each.toUpperCase() === code);

const homeCommunitiesIn = (identifiers: readonly LenientObject[]): string[] =>
  identifiers
    .filter(isIdentifierOf('HCID'))
    .flatMap(({ value }) => plainOid(lenientText(value) ?? '') ?? []);

const homeCommunityIn = (
  identifiers: readonly LenientObject[],
): string | undefined => homeCommunitiesIn(identifiers)[0];

/** Where no identifier says it, an id that is an OID is the home community. */
function homeCommunityOf(
  identifiers: readonly LenientObject[],
  id: string,
  remarks: Remarks,
): string | null {
  const found = homeCommunitiesIn(identifiers);
  if (new Set(found).size > 1)
    remarks.say('has several home communities: the first is taken');
  if (found[0] !== undefined) return found[0];
  if (identifiers.some(isIdentifierOf('HCID')))
    remarks.say('has a malformed home community');
  return plainOid(id) ?? null;
}

const NPI_SYSTEMS = [
  'http://hl7.org/fhir/sid/us-npi',
  'urn:oid:2.16.840.1.113883.4.6',
];

function npiOf(
  identifiers: readonly LenientObject[],
  remarks: Remarks,
): string | null {
  const written = identifiers
    .filter(
      (each) =>
        NPI_SYSTEMS.includes(
          lenientText(each.system)?.toLowerCase().replace(/\/$/, '') ?? '',
        ) || isIdentifierOf('NPI')(each),
    )
    .flatMap(({ value }) => lenientText(value) ?? []);
  const [npi] = written.filter(isNpi);
  if (npi !== undefined) return npi;
  const [mended] = written.map(npiWithin).filter(isNpi);
  if (mended !== undefined) {
    remarks.say(
      'has an NPI with other characters around it: they are left out',
    );
    return mended;
  }
  return written.length === 0 ? null : remarks.say('has a malformed NPI');
}

/** Without separators, a spreadsheet's decimals, and the issuer of health cards. */
const npiWithin = (text: string): string =>
  text
    .replace(/\.0+$/, '')
    .replaceAll(/[\s.-]/g, '')
    .replace(/^80840(?=\d{10}$)/, '');

function placeOf(
  resource: LenientObject,
  at: Date,
  remarks: Remarks,
): Pick<DirectoryEntry, 'city' | 'state' | 'zip'> {
  const addresses = lenientObjects(resource.address).filter((each) =>
    isInUseAt(each, at),
  );
  const address =
    addresses.find(({ state, postalCode }) => state ?? postalCode) ??
    addresses[0];
  if (address === undefined) return { city: null, state: null, zip: null };
  const given = lenientText(address.state);
  const parsed = usStateSchema.safeParse(given && stateCode(given));
  const state = parsed.success ? parsed.data : null;
  if (given !== undefined && state === null)
    remarks.say('has an unknown state');
  return {
    city: bounded(lenientText(address.city)) ?? null,
    state,
    zip: zipOf(lenientText(address.postalCode), state, remarks),
  };
}

/** States whose zips begin with a zero, which spreadsheets lose. */
const ZERO_STATES = 'CT MA ME NH NJ NY RI VT PR VI AE'.split(' ');

function zipOf(
  written: string | undefined,
  state: string | null,
  remarks: Remarks,
): string | null {
  if (written === undefined) return null;
  const digits = written.replaceAll(/[\s-]/g, '');
  if (/^(?!00000)\d{5}(\d{4})?$/.test(digits)) return digits.slice(0, 5);
  const isShort = /^(\d{3,4}|\d{7,8})$/.test(digits);
  if (!isShort || state === null || !ZERO_STATES.includes(state))
    return remarks.say('has a malformed zip');
  remarks.say('has a zip without its leading zero: it is put back');
  return digits.padStart(digits.length <= 4 ? 5 : 9, '0').slice(0, 5);
}

/** The location that the address names, or else the first. */
function containedLocation(
  resource: LenientObject,
  contained: readonly LenientObject[],
): LenientObject | undefined {
  const locations = contained.filter(isOfType('Location'));
  const named = lenientObjects(resource.address)
    .flatMap((address) => extensionsNamed(address, 'orglocation'))
    .map(({ valueReference }) =>
      referencedId(valueReference)?.replace('#', ''),
    );
  return (
    locations.find(({ id }) => named.includes(lenientText(id))) ?? locations[0]
  );
}

const NOWHERE = { latitude: null, longitude: null };

function positionOf(
  location: LenientObject | undefined,
  remarks: Remarks,
): Pick<DirectoryEntry, 'latitude' | 'longitude'> {
  if (!isObject(location?.position)) return NOWHERE;
  const latitude = lenientNumber(location.position.latitude);
  const longitude = lenientNumber(location.position.longitude);
  const place = placeAt(latitude, longitude);
  if (place !== undefined) return place;
  // No place of the US is so far south: it is a longitude.
  const exchanged = placeAt(longitude, latitude);
  if (exchanged !== undefined && exchanged.longitude < -60) {
    remarks.say('has latitude and longitude exchanged: they are put right');
    return exchanged;
  }
  remarks.say('has a malformed position');
  return NOWHERE;
}

/** The US and its territories reach from 15 degrees south to 72 north. */
function placeAt(
  latitude: number | undefined,
  longitude: number | undefined,
): { latitude: number; longitude: number } | undefined {
  if (latitude === undefined || longitude === undefined) return undefined;
  const isZero = latitude === 0 && longitude === 0;
  const isInRange =
    latitude >= -20 && latitude <= 75 && Math.abs(longitude) <= 180;
  return isInRange && !isZero ? { latitude, longitude } : undefined;
}

function readPart(
  resource: LenientObject,
  { at, entryAddress }: ReadContext,
): ReadItem {
  const remarks = new Remarks();
  const id = lenientText(resource.id) ?? entryAddress;
  if (id === undefined || id.length > ID_LENGTH_MAX)
    return { kind: 'refused', reason: 'has no id' };
  const isEndpoint = resource.resourceType === 'Endpoint';
  const asked = isEndpoint
    ? readEndpoint(resource, at, remarks)
    : { transaction: null, address: null };
  return {
    kind: 'part',
    part: {
      id: `${String(resource.resourceType)}/${id}`,
      entryId: referencedId(resource.managingOrganization) ?? null,
      ...asked,
      ...(isEndpoint ? NOWHERE : positionOf(resource, remarks)),
    },
    remarks: remarks.list,
  };
}

const isOfType =
  (type: string) =>
  ({ resourceType }: LenientObject): boolean =>
    resourceType === type;

/** Ids of references that lead out of the resource. */
const idsOf = (references: unknown): string[] =>
  lenientObjects(references)
    .filter(
      ({ reference }) => lenientText(reference)?.startsWith('#') === false,
    )
    .flatMap((each) => referencedId(each) ?? []);

const bounded = (text: string | undefined): string | undefined =>
  text?.slice(0, TEXT_LENGTH_MAX);

const listed = (texts: readonly string[]): string[] =>
  [...new Set(texts)]
    .slice(0, LIST_MAX)
    .map((text) => text.slice(0, ID_LENGTH_MAX));
