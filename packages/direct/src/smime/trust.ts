import type { X509Certificate } from 'node:crypto';

const CHAIN_MAX = 8;

/**
 * Whether a certificate leads to an anchor, by certificates that came along,
 * all of them valid at a time. Revocation is another question.
 */
export function isTrusted(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  anchors: readonly X509Certificate[],
  at: Date,
  depth = 0,
): boolean {
  if (!isValidAt(certificate, at) || depth > CHAIN_MAX) return false;
  if (anchors.some((anchor) => anchor.raw.equals(certificate.raw))) return true;
  if (
    anchors.some((each) => isValidAt(each, at) && isIssuedBy(certificate, each))
  )
    return true;

  return others.some(
    (each) =>
      each !== certificate &&
      isIssuedBy(certificate, each) &&
      isTrusted(each, others, anchors, at, depth + 1),
  );
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
