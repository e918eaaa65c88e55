import { createHmac, timingSafeEqual } from 'node:crypto';
import { parse as parseUuid, stringify as stringifyUuid } from 'uuid';

/** A webhook's receiver may come for the data the next day: deliveries are repeated for up to three days. */
export const CONSOLIDATED_LINK_HOURS = 72;

export interface LinkTarget {
  accountId: string;
  patientId: string;
}

export type VerifiedLink = ({ kind: 'valid' } & LinkTarget) | { kind: 'expired' } | { kind: 'invalid' };

const CONSOLIDATED = 'links/consolidated';
const PAYLOAD_BYTES = 16 + 16 + 6;
const SIGNATURE_BYTES = 32;

/**
 * A link to everything stored of one patient, as a FHIR Bundle. Whoever holds it may read until it expires; it names
 * opaque ids only, and any change of it makes it invalid.
 */
export function consolidatedDataUrl(
  publicBaseUrl: string,
  signingKey: string,
  target: LinkTarget,
  now: Date = new Date(),
): string {
  const expiresAt = now.getTime() + CONSOLIDATED_LINK_HOURS * 3_600_000;
  return `${publicBaseUrl}/links/consolidated/${signLink(signingKey, target, expiresAt)}`;
}

/** @param expiresAtMs since the epoch */
export function signLink(signingKey: string, target: LinkTarget, expiresAtMs: number): string {
  const payload = Buffer.alloc(PAYLOAD_BYTES);
  payload.set(parseUuid(target.accountId), 0);
  payload.set(parseUuid(target.patientId), 16);
  payload.writeUIntBE(Math.floor(expiresAtMs), 32, 6);
  return Buffer.concat([payload, signatureOf(signingKey, payload)]).toString('base64url');
}

export function verifyLink(signingKey: string, token: string, now: Date = new Date()): VerifiedLink {
  const bytes = Buffer.from(token, 'base64url');
  const payload = bytes.subarray(0, PAYLOAD_BYTES);
  const signature = bytes.subarray(PAYLOAD_BYTES);
  // Base64 has several spellings of the same bytes; only ours is a link.
  if (signature.length !== SIGNATURE_BYTES || bytes.toString('base64url') !== token)
    return { kind: 'invalid' };
  if (!timingSafeEqual(signature, signatureOf(signingKey, payload))) return { kind: 'invalid' };
  if (payload.readUIntBE(32, 6) <= now.getTime()) return { kind: 'expired' };
  return {
    kind: 'valid',
    accountId: stringifyUuid(payload.subarray(0, 16)),
    patientId: stringifyUuid(payload.subarray(16, 32)),
  };
}

function signatureOf(signingKey: string, payload: Buffer): Buffer {
  return createHmac('sha256', signingKey).update(CONSOLIDATED).update(payload).digest();
}
