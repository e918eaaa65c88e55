import { createHash } from 'node:crypto';
import type {
  CodeableConcept,
  Coding,
  DocumentReference,
  Identifier,
  Reference,
} from 'fhir/r4.js';
import type { Coded, DocumentAuthor, DocumentEntry } from '#ihe';
import { comparableId, withUrnOid } from '#ihe';
import { SYSTEM_SPELLINGS } from '#record-summary/fhir';
import { mediaTypeOf } from '../../../../records/deliveries/inline-files.ts';

/*
 * The metadata of a document (ITI TF-3 4.2.3.2) as FHIR, by the mapping of IHE's
 * MHD (ITI TF-3, "FHIR DocumentReference to Document Entry Mapping").
 */

/**
 * The id under which an entry is filed: the same in each answer that has it,
 * whoever spells its ids how. A document of another community is another one.
 * Undefined for an entry without any id.
 */
export function documentIdOf(entry: DocumentEntry): string | undefined {
  const { homeCommunity = '', repository = '', uniqueId, entryUuid } = entry;
  const own =
    uniqueId === undefined
      ? entryUuid && ['entry', comparableId(entryUuid)]
      : [comparableId(repository), comparableId(uniqueId)];
  if (own === undefined || own === '') return undefined;
  return createHash('sha256')
    .update(JSON.stringify([comparableId(homeCommunity), ...own]))
    .digest('hex')
    .slice(0, 32);
}

/**
 * @param id from `documentIdOf`
 * @param patientId our id of the community's Patient
 */
export function documentReferenceOf(
  entry: DocumentEntry,
  id: string,
  patientId: string,
): DocumentReference {
  return defined({
    resourceType: 'DocumentReference',
    id,
    masterIdentifier: uriIdentifier(entry.uniqueId),
    identifier: listOf(uriIdentifier(entry.entryUuid)),
    status: entry.availability === 'Deprecated' ? 'superseded' : 'current',
    type: conceptOf(entry.typeCode),
    category: listOf(conceptOf(entry.classCode)),
    subject: { reference: `Patient/${patientId}` },
    date: entry.creationTime?.instant,
    author: filled(entry.authors.flatMap(authorsOf)),
    authenticator:
      entry.legalAuthenticator === undefined
        ? undefined
        : personOf(entry.legalAuthenticator),
    custodian: custodianOf(entry),
    description: entry.comments ?? entry.title,
    securityLabel: filled(
      entry.confidentiality.map((code) => ({ coding: [codingOf(code)] })),
    ),
    content: [
      defined({
        attachment: defined({
          contentType: mediaTypeOf(entry.mimeType),
          language: entry.language,
          size: entry.size || undefined,
          hash: base64Of(entry.hash),
          title: entry.title,
          creation: entry.creationTime?.instant ?? entry.creationTime?.date,
        }),
        format: entry.formatCode && codingOf(entry.formatCode),
      }),
    ],
    context: contextOf(entry),
  });
}

function contextOf(entry: DocumentEntry): DocumentReference['context'] {
  const { serviceStart, serviceStop } = entry;
  const start = serviceStart?.instant ?? serviceStart?.date;
  const end = serviceStop?.instant ?? serviceStop?.date;
  return defined({
    event: filled(
      entry.eventCodes.map((code) => ({ coding: [codingOf(code)] })),
    ),
    period:
      start === undefined && end === undefined
        ? undefined
        : defined({ start, end }),
    facilityType: conceptOf(entry.facilityType),
    practiceSetting: conceptOf(entry.practiceSetting),
  });
}

/** The community that holds the document, and the organization that wrote it. */
function custodianOf({
  homeCommunity,
  authors,
}: DocumentEntry): Reference | undefined {
  const [institution] = authors.flatMap(({ institutions }) => institutions);
  const named =
    institution === undefined ? undefined : organizationOf(institution).display;
  if (homeCommunity === undefined && named === undefined) return undefined;
  return defined({
    type: 'Organization',
    identifier:
      homeCommunity === undefined
        ? undefined
        : { system: URI, value: withUrnOid(homeCommunity) },
    display: named ?? homeCommunity,
  });
}

const authorsOf = ({ persons, institutions }: DocumentAuthor): Reference[] => [
  ...persons.map(personOf),
  ...institutions.map(organizationOf),
];

const NPI = '2.16.840.1.113883.4.6';

/** HL7 v2's XCN: `id^Family^Given^Middle^Suffix^Prefix^^^&authority&ISO`. */
function personOf(xcn: string): Reference {
  const [id = '', family = '', given = '', middle = '', suffix = '', prefix] =
    xcn.split('^');
  const words = [prefix, given, middle, family.split('&')[0], suffix];
  const name = words.filter((word) => word).join(' ');
  const isNpi = xcn.split('^')[8]?.split('&')[1] === NPI;
  return defined({
    type: 'Practitioner',
    identifier:
      isNpi && /^\d{10}$/.test(id)
        ? { system: 'http://hl7.org/fhir/sid/us-npi', value: id }
        : undefined,
    // Some write a plain name.
    display: name === '' ? id : name,
  });
}

/** HL7 v2's XON: `Name^^^^^&authority&ISO^^^^id`. */
function organizationOf(xon: string): Reference {
  const parts = xon.split('^');
  const oid = [parts[9], parts[5]?.split('&')[1]].find((each) =>
    /^\d+(\.\d+)+$/.test(each ?? ''),
  );
  return defined({
    type: 'Organization',
    identifier:
      oid === undefined ? undefined : { system: URI, value: withUrnOid(oid) },
    display: parts[0] || oid,
  });
}

const URI = 'urn:ietf:rfc:3986';

/** An id as a URI where it is an OID or a UUID; otherwise as it stands. */
function uriIdentifier(id: string | undefined): Identifier | undefined {
  if (id === undefined) return undefined;
  const bare = comparableId(id);
  if (/^[0-2](\.\d+)+$/.test(bare))
    return { system: URI, value: `urn:oid:${bare}` };
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(bare)
    ? { system: URI, value: `urn:uuid:${bare}` }
    : { value: id };
}

function conceptOf(coded: Coded | undefined): CodeableConcept | undefined {
  return coded && defined({ coding: [codingOf(coded)], text: coded.display });
}

const codingOf = ({ code, system, display }: Coded): Coding =>
  defined({ system: systemOf(system), code, display });

/** A name of a system is no URI, so it is left out. */
function systemOf(system: string | undefined): string | undefined {
  if (system === undefined) return undefined;
  const uri = /^[0-2](\.\d+)+$/.test(system) ? `urn:oid:${system}` : system;
  return /^[a-z][a-z0-9+.-]*:/i.test(uri)
    ? (SYSTEM_SPELLINGS[uri] ?? uri)
    : undefined;
}

/** SHA-1 as FHIR writes it; metadata have it in hexadecimal. */
const base64Of = (hash: string | undefined): string | undefined =>
  hash !== undefined && /^[0-9a-f]{40}$/i.test(hash)
    ? Buffer.from(hash, 'hex').toString('base64')
    : undefined;

const listOf = <T>(value: T | undefined): T[] | undefined =>
  value === undefined ? undefined : [value];

const filled = <T>(list: T[]): T[] | undefined =>
  list.length === 0 ? undefined : list;

/** Without members that are undefined, and without objects that are empty. */
function defined<T extends object>(value: T): T {
  const members = Object.entries(value).filter(
    ([, member]) =>
      member !== undefined &&
      !(
        typeof member === 'object' &&
        member !== null &&
        Object.keys(member).length === 0
      ),
  );
  return Object.fromEntries(members) as T;
}
