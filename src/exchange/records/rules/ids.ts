import { hash } from 'node:crypto';

/** The first 128 bits of SHA-256 over the parts as JSON. Stored keys depend on it: it must not change. */
const digitsOf = (parts: readonly unknown[]): string =>
  hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32);

/** A hash of the parts, in base64url. */
export const hashOf = (parts: readonly unknown[]): string =>
  Buffer.from(digitsOf(parts), 'hex').toString('base64url');

/** A UUID derived from the parts, version 8 (RFC 9562: custom). */
export function derivedUuid(parts: readonly unknown[]): string {
  const hex = digitsOf(parts);
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
