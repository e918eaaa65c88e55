import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';

/**
 * The certificates of a PEM file, each with its text.
 *
 * @throws when one of them cannot be read, or there is none
 */
export function networkCertificatesOf(pem: string): X509Certificate[] {
  const texts = pem.match(
    /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g,
  );
  if (texts === null) throw new TypeError('There is no certificate.');
  return texts.map((text) => new X509Certificate(text));
}

/**
 * Whether the client's certificate leads to one of this network. The server
 * trusts the authorities of all networks, and TLS has verified the chain, which
 * must have one of this network's in it.
 */
export function isOfNetwork(socket: TLSSocket, trusted: string): boolean {
  const anchors = new Set(
    networkCertificatesOf(trusted).map(({ fingerprint256 }) => fingerprint256),
  );
  return chainOf(socket).some((each) => anchors.has(each));
}

/** The fingerprints of the client's certificate and of its issuers. */
function chainOf(socket: TLSSocket): string[] {
  if (!socket.authorized) return [];
  const chain: string[] = [];
  let at: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (
    at?.fingerprint256 !== undefined &&
    !chain.includes(at.fingerprint256)
  ) {
    chain.push(at.fingerprint256);
    at = at.issuerCertificate;
  }
  return chain;
}
