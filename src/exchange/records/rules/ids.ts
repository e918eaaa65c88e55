import { createHash } from 'node:crypto';

/** The first 128 bits of SHA-256 over the parts as JSON. Stored keys depend on it: it must not change. */
export function hashOf(parts: readonly unknown[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest().subarray(0, 16);
}

/** A UUID derived from the parts, version 8 (RFC 9562: custom). */
export function derivedUuid(parts: readonly unknown[]): string {
  const bytes = Buffer.from(hashOf(parts));
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
