import { X509Certificate } from 'node:crypto';

/** Longer chains are not followed. */
const CHAIN_MAX = 6;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** @throws Error when a certificate cannot be read */
export const certificatesOf = (pem: string): X509Certificate[] =>
  (pem.match(PEM) ?? []).map((one) => new X509Certificate(one));

/** The `x5c` header of a JWT: our certificate and its chain. */
export const x5cOf = (pem: string): string[] => certificatesOf(pem).map(({ raw }) => raw.toString('base64'));

/** The URIs among the subject alternative names of a certificate. */
export function uriNames({ subjectAltName = '' }: X509Certificate): string[] {
  // Node.js quotes names that contain special characters, as JSON does.
  return [...subjectAltName.matchAll(/(?:^|, )URI:("(?:[^"\\]|\\.)*"|[^,]*)/g)].map(([, name = '']) =>
    name.startsWith('"') ? String(JSON.parse(name)) : name,
  );
}

/**
 * Whether the first certificate leads to a trusted anchor by signatures, over the others, and all are valid at this time.
 * Revocation is not checked.
 */
export function leadsToAnchor(
  [leaf, ...others]: readonly X509Certificate[],
  anchors: readonly X509Certificate[],
  nowMs: number,
): boolean {
  let current = leaf;
  for (let depth = 0; current !== undefined && depth < CHAIN_MAX; depth += 1) {
    if (!isValidAt(current, nowMs)) return false;
    const subject = current;
    const isIssuer = (issuer: X509Certificate) =>
      issuer.ca && subject.checkIssued(issuer) && subject.verify(issuer.publicKey);
    if (anchors.some((anchor) => isIssuer(anchor) && isValidAt(anchor, nowMs))) return true;
    current = others.find((other) => other.fingerprint256 !== subject.fingerprint256 && isIssuer(other));
  }
  return false;
}

const isValidAt = ({ validFrom, validTo }: X509Certificate, nowMs: number): boolean =>
  Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo);
