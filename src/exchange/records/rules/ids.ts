import { hash } from 'node:crypto';

/**
 * The first 128 bits of SHA-256 over the parts as JSON. Stored keys depend on
 * it: it must not change.
 */
const digitsOf = (parts: readonly unknown[]): string =>
  hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32);

/**
 * A hash of the parts: the same 128 bits in base64url, whose 22nd and last
 * digit says two bits.
 */
export function hashOf(parts: readonly unknown[]): string {
  const digits = hash('sha256', JSON.stringify(parts), 'base64url');
  const last = DIGITS.indexOf(digits.charAt(21));
  return digits.slice(0, 21) + DIGITS.charAt(last & 0b110000);
}

/** The digits of base64url (RFC 4648, section 5). */
const DIGITS =
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** A UUID derived from the parts, version 8 (RFC 9562: custom). */
export function derivedUuid(parts: readonly unknown[]): string {
  const hex = digitsOf(parts);
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(
    16,
  );
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/**
 * Outside of FHIR's ids, so that an id of a server never looks like one of a
 * namespace.
 */
const MARK = '~';

/**
 * The namespace of a connection: short, because an id has at most 128
 * characters.
 */
export const namespaceOf = (connectionId: string): string =>
  `c-${connectionId.slice(-8)}${MARK}`;

/**
 * The namespace of what messages report about one encounter, fill or result. No
 * query's answer is compared with it.
 */
export const messageNamespaceOf = (subjectId: string): string =>
  `m-${subjectId.slice(-12)}${MARK}`;

/** Ids of what messages reported; also a regular expression of PostgreSQL. */
export const OF_MESSAGE = '^m-[0-9a-f]{12}~';
const OF_ANY = new RegExp(`^c-[0-9a-f]{8}~|${OF_MESSAGE}`);
const ofMessage = new RegExp(OF_MESSAGE);

/** Whether a message reported the resource with this id. */
export const isOfMessage = (id: string): boolean => ofMessage.test(id);

/**
 * Whether an id belongs to a namespace; an id of no other namespace belongs to
 * the empty one.
 */
export const isInNamespace = (namespace: string, id: string): boolean =>
  namespace === '' ? !OF_ANY.test(id) : id.startsWith(namespace);
