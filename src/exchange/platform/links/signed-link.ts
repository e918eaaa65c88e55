import { createHmac, timingSafeEqual } from 'node:crypto';
import { parse as parseUuid, stringify as stringifyUuid } from 'uuid';

/**
 * Kinds of links, by what they give access to. A link of one kind is invalid
 * for any other.
 */
export const LINK_KINDS = [
  /** A patient's consolidated record; the target is the patient. */
  'consolidated',
  /** Upload of the CSV of a bulk create; the target is the request. */
  'bulk-upload',
  /** Upload of a contributed document; the target is the contribution. */
  'document-upload',
  /** The result CSV of a bulk create; the target is the request. */
  'bulk-result',
  /** One document, original or converted; the target is the document. */
  'document',
  /** The result of a consolidated query; the target is the query. */
  'consolidated-result',
  /**
   * A file of a health link, which its address names too; the target is the
   * opening.
   */
  'health-link-file',
  /** The FHIR Bundle of a notification; the target is the notification. */
  'encounter',
  /**
   * Return of a person from the identity partner; the target is the identity
   * session.
   */
  'identity-session',
  /**
   * Return of a person from the identity partner; the target is the AAL2
   * challenge.
   */
  'aal2-challenge',
] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

/**
 * Lifetime of links in webhooks, whose deliveries are repeated for up to three
 * days.
 */
export const CONSOLIDATED_LINK_HOURS = 72;

export interface LinkTarget {
  accountId: string;
  /** UUID of the object that the link gives access to. */
  targetId: string;
}

/**
 * Result of a check. An expired link still has its target, for the audit and
 * for more specific responses.
 */
export type VerifiedLink =
  | ({ kind: 'valid' | 'expired' } & LinkTarget)
  | { kind: 'invalid' };

const PAYLOAD_BYTES = 16 + 16 + 6;
const SIGNATURE_BYTES = 32;

export type LinkMaker = ReturnType<typeof createLinkMaker>;

/** Makes signed links with the process's base URL and signing key. */
export const createLinkMaker = (publicBaseUrl: string, signingKey: string) => ({
  /**
   * `<public base URL>/links/<kind>/<token>`, valid for `lifetimeMs` from now.
   */
  url: (
    kind: LinkKind,
    target: LinkTarget,
    lifetimeMs: number,
    now = new Date(),
  ): string =>
    `${publicBaseUrl}/links/${kind}/${signLink(signingKey, kind, target, now.getTime() + lifetimeMs)}`,
});

/**
 * A link to a patient's consolidated record as a FHIR Bundle. Anyone who has
 * the link can read the record until it expires. It contains opaque ids only,
 * and its signature makes any change invalid.
 */
export const consolidatedDataUrl = (
  links: LinkMaker,
  { accountId, patientId }: { accountId: string; patientId: string },
  now?: Date,
): string =>
  links.url(
    'consolidated',
    { accountId, targetId: patientId },
    CONSOLIDATED_LINK_HOURS * 3_600_000,
    now,
  );

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
  return Buffer.concat([
    payload,
    signatureOf(signingKey, kind, payload),
  ]).toString('base64url');
}

/** Verifies the signature and expiry of a link token. Never throws. */
export function verifyLink(
  signingKey: string,
  kind: LinkKind,
  token: string,
  now: Date = new Date(),
): VerifiedLink {
  const bytes = Buffer.from(token, 'base64url');
  const payload = bytes.subarray(0, PAYLOAD_BYTES);
  const signature = bytes.subarray(PAYLOAD_BYTES);
  // The same bytes have several base64 encodings; only the canonical one is
  // accepted.
  if (
    signature.length !== SIGNATURE_BYTES ||
    bytes.toString('base64url') !== token
  )
    return { kind: 'invalid' };
  if (!timingSafeEqual(signature, signatureOf(signingKey, kind, payload)))
    return { kind: 'invalid' };
  return {
    kind: payload.readUIntBE(32, 6) > now.getTime() ? 'valid' : 'expired',
    accountId: stringifyUuid(payload.subarray(0, 16)),
    targetId: stringifyUuid(payload.subarray(16, 32)),
  };
}

function signatureOf(
  signingKey: string,
  kind: LinkKind,
  payload: Buffer,
): Buffer {
  return createHmac('sha256', signingKey)
    .update(`links/${kind}`)
    .update(payload)
    .digest();
}
