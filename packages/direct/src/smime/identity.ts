import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { Certificate } from 'pkijs';
import { DirectError } from '../direct-error.ts';

/** A certificate with its RSA key: who signs, or who decrypts. */
export interface DirectIdentity {
  certificate: X509Certificate;
  privateKey: KeyObject;

  /** Certificates between ours and the anchor, which are sent along. */
  chain: readonly X509Certificate[];
}

/**
 * @param pem a certificate, followed by its chain
 * @throws {DirectError} `algorithm` for a key that is not RSA, or not the
 * certificate's
 */
export function readIdentity(
  pem: string,
  privateKeyPem: string,
): DirectIdentity {
  const [certificate, ...chain] = readCertificates(pem);
  const privateKey = createPrivateKey(privateKeyPem);
  if (
    certificate === undefined ||
    privateKey.asymmetricKeyType !== 'rsa' ||
    !certificate.checkPrivateKey(privateKey)
  )
    throw new DirectError(
      'algorithm',
      'An identity is a certificate and its RSA key.',
    );

  return { certificate, privateKey, chain };
}

/** The certificates of a PEM text, in their order. */
export function readCertificates(pem: string): X509Certificate[] {
  const blocks =
    pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ??
    [];

  return blocks.map((block) => new X509Certificate(block));
}

/** As the library for CMS has it. */
export function toPkijs(certificate: X509Certificate): Certificate {
  return Certificate.fromBER(new Uint8Array(certificate.raw));
}

/** As node:crypto has it. */
export function toX509(certificate: Certificate): X509Certificate {
  return new X509Certificate(Buffer.from(certificate.toSchema(true).toBER()));
}
