import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { IheError } from '../ihe-error.ts';

/** Our certificate and its key: for TLS, and for what is signed. */
export interface Credentials {
  certificate: X509Certificate;
  privateKey: KeyObject;
}

/**
 * Reads a client certificate and its key from PEM; of a chain, the first
 * certificate is ours.
 *
 * @throws {IheError} `credentials` when either cannot be read, the key is not
 *   RSA, or it does not belong to the certificate
 */
export function readCredentials({
  certificate,
  privateKey,
  passphrase,
}: {
  certificate: string;
  privateKey: string;
  passphrase?: string;
}): Credentials {
  const credentials = {
    certificate: readOr(
      () => new X509Certificate(certificate),
      'The certificate is no PEM that can be read.',
    ),
    privateKey: readOr(
      () => createPrivateKey({ key: privateKey, passphrase }),
      'The private key is no PEM that can be read, or its passphrase is wrong.',
    ),
  };
  if (credentials.privateKey.asymmetricKeyType !== 'rsa')
    throw unfit('The private key is not RSA, which gateways ask for.');
  if (!credentials.certificate.checkPrivateKey(credentials.privateKey))
    throw unfit('The private key does not belong to the certificate.');
  return credentials;
}

function readOr<T>(read: () => T, message: string): T {
  try {
    return read();
  } catch {
    throw unfit(message);
  }
}

const unfit = (message: string): IheError =>
  new IheError('credentials', message);

/** The numbers of an RSA public key in base64, as XML signatures have them. */
export function rsaNumbers(key: KeyObject): {
  modulus: string;
  exponent: string;
} {
  const { n = '', e = '' } = key.export({ format: 'jwk' });
  return { modulus: base64(n), exponent: base64(e) };
}

const base64 = (url: string): string =>
  Buffer.from(url, 'base64url').toString('base64');

/**
 * The subject of a certificate as RFC 4514 writes it, the most specific part
 * first: `CN=gateway.clinic.example,O=Clinic,C=US`.
 */
export const subjectName = (certificate: X509Certificate): string =>
  certificate.subject.split('\n').reverse().join(',');
