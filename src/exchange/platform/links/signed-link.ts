import { createHmac, timingSafeEqual } from 'node:crypto';
import { parse as parseUuid, stringify as stringifyUuid } from 'uuid';

/** What links lead to. A link of one kind is none of another. */
export const LINK_KINDS = [
  /** Everything stored of a patient; the target is the patient. */
  'consolidated',
  /** Where the CSV of a bulk create is sent; the target is the request. */
  'bulk-upload',
  /** The result CSV of a bulk create; the target is the request. */
  'bulk-result',
  /** One document, as it came or converted; the target is the document. */
  'document',
  /** The result of a consolidated query; the target is the query. */
  'consolidated-result',
  /** The encounter that a notification tells of; the target is the notification. */
  'encounter',
  /** Where the identity partner sends a person back; the target is the identity session. */
  'identity-session',
  /** Where the identity partner sends a person back; the target is the AAL2 challenge. */
  'aal2-challenge',
] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

/** A webhook's receiver may come for the data the next day: deliveries are repeated for up to three days. */
export const CONSOLIDATED_LINK_HOURS = 72;

export interface LinkTarget {
  accountId: string;
  /** UUID of what the link leads to. */
  targetId: string;
}

/** An expired link still tells what it led to, for answers that say more than "gone". */
export type VerifiedLink = ({ kind: 'valid' | 'expired' } & LinkTarget) | { kind: 'invalid' };

const PAYLOAD_BYTES = 16 + 16 + 6;
const SIGNATURE_BYTES = 32;

/** Makes links; what a process needs of configuration to do so is bound once. */
export interface LinkMaker {
  /** `<public base address>/links/<kind>/<token>`, good for `lifetimeMs` from now. */
  url(kind: LinkKind, target: LinkTarget, lifetimeMs: number, now?: Date): string;
}

export const createLinkMaker = (publicBaseUrl: string, signingKey: string): LinkMaker => ({
  url: (kind, target, lifetimeMs, now = new Date()) =>
    `${publicBaseUrl}/links/${kind}/${signLink(signingKey, kind, target, now.getTime() + lifetimeMs)}`,
});

/**
 * A link to everything stored of one patient, as a FHIR Bundle. Whoever holds it may read until it expires; it names
 * opaque ids only, and any change of it makes it invalid.
 */
export const consolidatedDataUrl = (
  links: LinkMaker,
  { accountId, patientId }: { accountId: string; patientId: string },
  now?: Date,
): string =>
  links.url('consolidated', { accountId, targetId: patientId }, CONSOLIDATED_LINK_HOURS * 3_600_000, now);

/** @param expiresAtMs since the epoch */
export function signLink(
  signingKey: string,
  kind: LinkKind,
  target: LinkTarget,
  expiresAtMs: number,
): string {
  const payload = Buffer.alloc(PAYLOAD_BYTES);
  payload.set(parseUuid(target.accountId), 0);
  payload.set(parseUuid(target.targetId), 16);
  payload.writeUIntBE(Math.floor(expiresAtMs), 32, 6);
  return Buffer.concat([payload, signatureOf(signingKey, kind, payload)]).toString('base64url');
}

export function verifyLink(
  signingKey: string,
  kind: LinkKind,
  token: string,
  now: Date = new Date(),
): VerifiedLink {
  const bytes = Buffer.from(token, 'base64url');
  const payload = bytes.subarray(0, PAYLOAD_BYTES);
  const signature = bytes.subarray(PAYLOAD_BYTES);
  // Base64 has several spellings of the same bytes; only ours is a link.
  if (signature.length !== SIGNATURE_BYTES || bytes.toString('base64url') !== token)
    return { kind: 'invalid' };
  if (!timingSafeEqual(signature, signatureOf(signingKey, kind, payload))) return { kind: 'invalid' };
  return {
    kind: payload.readUIntBE(32, 6) > now.getTime() ? 'valid' : 'expired',
    accountId: stringifyUuid(payload.subarray(0, 16)),
    targetId: stringifyUuid(payload.subarray(16, 32)),
  };
}

function signatureOf(signingKey: string, kind: LinkKind, payload: Buffer): Buffer {
  return createHmac('sha256', signingKey).update(`links/${kind}`).update(payload).digest();
}
