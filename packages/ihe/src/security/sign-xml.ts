import { SignedXml } from 'xml-crypto';
import { DSIG } from '../namespaces.ts';
import { xml } from '../xml/write-xml.ts';
import { type Credentials, rsaNumbers } from './credentials.ts';

export const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
export const ENVELOPED = `${DSIG}enveloped-signature`;

export interface SignatureAlgorithms {
  signature: string;
  digest: string;
}

export const SHA_256: SignatureAlgorithms = {
  signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  digest: 'http://www.w3.org/2001/04/xmlenc#sha256',
};

/** For the few gateways that know no other. */
export const SHA_1: SignatureAlgorithms = {
  signature: `${DSIG}rsa-sha1`,
  digest: `${DSIG}sha1`,
};

/**
 * Signs an assertion, with the signature right after its issuer, as SAML wants
 * it.
 *
 * @param assertion with every namespace that it uses declared in itself
 * @returns the signed assertion, which must not be serialized again
 */
export function signAssertion(
  assertion: string,
  credentials: Credentials,
  algorithms: SignatureAlgorithms,
): string {
  const signer = new SignedXml({
    privateKey: credentials.privateKey,
    signatureAlgorithm: algorithms.signature,
    canonicalizationAlgorithm: EXCLUSIVE,
    getKeyInfoContent: () => assertionKeyInfo(credentials),
  });
  signer.addReference({
    xpath: '/*',
    transforms: [ENVELOPED, EXCLUSIVE],
    digestAlgorithm: algorithms.digest,
  });
  signer.computeSignature(assertion, {
    prefix: 'ds',
    location: { reference: "/*/*[local-name(.)='Issuer']", action: 'after' },
  });
  return signer.getSignedXml();
}

/** Our key as gateways look for it: some by its numbers, some by certificate. */
function assertionKeyInfo(credentials: Credentials): string {
  const certificate = credentials.certificate.raw.toString('base64');
  return `${keyValue(credentials)}<ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data>`;
}

/** The prefix `ds` must be declared where it is put. */
export function keyValue({ certificate }: Credentials): string {
  const { modulus, exponent } = rsaNumbers(certificate.publicKey);
  return xml`<ds:KeyValue><ds:RSAKeyValue><ds:Modulus>${modulus}</ds:Modulus><ds:Exponent>${exponent}</ds:Exponent></ds:RSAKeyValue></ds:KeyValue>`
    .source;
}

/**
 * Signs a timestamp with the key that the assertion names.
 *
 * @param timestamp a `wsu:Timestamp` with a `wsu:Id`
 * @param keyInfo what tells the key; namespaces declared in itself
 * @returns the signature alone, to stand beside the timestamp
 */
export function signTimestamp(
  timestamp: string,
  keyInfo: string,
  { privateKey }: Credentials,
  algorithms: SignatureAlgorithms,
): string {
  const signer = new SignedXml({
    idMode: 'wssecurity',
    privateKey,
    signatureAlgorithm: algorithms.signature,
    canonicalizationAlgorithm: EXCLUSIVE,
    getKeyInfoContent: () => keyInfo,
  });
  signer.addReference({
    xpath: '/*',
    transforms: [EXCLUSIVE],
    digestAlgorithm: algorithms.digest,
  });
  signer.computeSignature(timestamp, { prefix: 'ds' });
  return signer.getSignatureXml();
}
