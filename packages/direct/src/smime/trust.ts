import type { X509Certificate } from 'node:crypto';
import { BitString } from 'asn1js';
import { BasicConstraints } from 'pkijs';
import { toPkijs } from './identity.ts';

/** Certificates between a certificate and its anchor. */
const BETWEEN_MAX = 8;
/** So many authorities that came along are looked at: strangers choose them. */
const OTHERS_MAX = 30;

/**
 * The way of a certificate to an anchor, by certificates that came along, all
 * of them valid at a time. Revocation is another question.
 *
 * @returns the certificate first and the anchor last, which may be the same;
 * undefined when there is no way
 */
export function chainToAnchor(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  anchors: readonly X509Certificate[],
  at: Date,
): X509Certificate[] | undefined {
  if (!isValidAt(certificate, at)) return undefined;
  if (anchors.some((each) => each.raw.equals(certificate.raw)))
    return [certificate];

  const validAnchors = anchors.filter((each) => isValidAt(each, at));
  const unseen = new Set(
    others
      .filter((each) => each.ca && isValidAt(each, at))
      .slice(0, OTHERS_MAX),
  );
  // The shortest way is found first, and each certificate is looked at once.
  for (const chain of waysUp([certificate], unseen)) {
    const anchor = validAnchors.find((each) => continues(chain, each));
    if (anchor !== undefined) return [...chain, anchor];
  }

  return undefined;
}

/** Chains that begin with the given one, the shorter ones first. */
function* waysUp(
  first: X509Certificate[],
  unseen: Set<X509Certificate>,
): Generator<X509Certificate[]> {
  const chains = [first];
  for (const chain of chains) {
    yield chain;
    if (chain.length > BETWEEN_MAX) continue;
    for (const issuer of [...unseen])
      if (continues(chain, issuer)) {
        unseen.delete(issuer);
        chains.push([...chain, issuer]);
      }
  }
}

function continues(chain: X509Certificate[], issuer: X509Certificate): boolean {
  const last = chain.at(-1);

  return (
    last !== undefined &&
    isIssuedBy(last, issuer) &&
    chain.length - 1 <= pathLengthOf(issuer)
  );
}

/** How many authorities may stand below one (RFC 5280, 4.2.1.9). */
function pathLengthOf(issuer: X509Certificate): number {
  const constraints = extensionOf(issuer, BASIC_CONSTRAINTS);

  if (constraints === UNREADABLE) return -1;

  return constraints instanceof BasicConstraints &&
    typeof constraints.pathLenConstraint === 'number'
    ? constraints.pathLenConstraint
    : Infinity;
}

/** Whether a certificate leads to an anchor (`chainToAnchor`). */
export const isTrusted = (...of: Parameters<typeof chainToAnchor>): boolean =>
  chainToAnchor(...of) !== undefined;

const BASIC_CONSTRAINTS = '2.5.29.19';
const KEY_USAGE = '2.5.29.15';
/** Bits of the first byte of a key usage (RFC 5280, 4.2.1.3). */
const PURPOSES = {
  signing: 0x80 | 0x40,
  encrypting: 0x20,
} as const;

/**
 * Whether a certificate is for signing, or for encrypting keys with RSA. One
 * without a key usage is for both; some providers have one for each.
 */
export function isMeantFor(
  certificate: X509Certificate,
  purpose: keyof typeof PURPOSES,
): boolean {
  const hasKey =
    purpose === 'signing' || certificate.publicKey.asymmetricKeyType === 'rsa';

  return hasKey && (keyUsageOf(certificate) & PURPOSES[purpose]) !== 0;
}

function keyUsageOf(certificate: X509Certificate): number {
  const usage = extensionOf(certificate, KEY_USAGE);
  if (usage === undefined) return 0xff;

  return usage instanceof BitString
    ? (usage.valueBlock.valueHexView[0] ?? 0)
    : 0;
}

const UNREADABLE = Symbol('unreadable');

/** Strangers' certificates may be such that only OpenSSL reads them. */
function extensionOf(certificate: X509Certificate, id: string): unknown {
  try {
    return toPkijs(certificate).extensions?.find(({ extnID }) => extnID === id)
      ?.parsedValue;
  } catch {
    return UNREADABLE;
  }
}

function isIssuedBy(
  certificate: X509Certificate,
  issuer: X509Certificate,
): boolean {
  return (
    issuer.ca &&
    certificate.checkIssued(issuer) &&
    certificate.verify(issuer.publicKey)
  );
}

function isValidAt(certificate: X509Certificate, at: Date): boolean {
  return certificate.validFromDate <= at && at <= certificate.validToDate;
}

/**
 * Whether a certificate is an address's: of the address itself (`rfc822Name`),
 * or of its domain (`dNSName`), as Direct binds them (1.3, 4.1).
 */
export function speaksFor(
  certificate: X509Certificate,
  address: string,
): boolean {
  const wanted = address.toLowerCase();
  const domain = wanted.slice(wanted.lastIndexOf('@') + 1);

  return alternativeNames(certificate).some(
    ({ type, value }) =>
      (type === 'email' && value === wanted) ||
      (type === 'DNS' && value === domain),
  );
}

function alternativeNames(
  certificate: X509Certificate,
): { type: string | undefined; value: string | undefined }[] {
  const names = certificate.subjectAltName?.split(', ') ?? [];

  return names.map((name) => {
    const [, type, value] = /^(\w+):(.*)$/.exec(name) ?? [];

    return { type, value: value?.toLowerCase() };
  });
}
