import { constants, createDecipheriv, privateDecrypt } from 'node:crypto';
import { OctetString } from 'asn1js';
import {
  ContentInfo,
  EnvelopedData,
  IssuerAndSerialNumber,
  KeyTransRecipientInfo,
  RSAESOAEPParams,
} from 'pkijs';
import { DirectError } from '../direct-error.ts';
import { type DirectIdentity, toPkijs } from './identity.ts';
import { CMS, CONTENT_CIPHERS, DIGESTS, rowOf } from './oids.ts';

/**
 * Decrypts what was encrypted for one of our identities.
 *
 * @param der an EnvelopedData
 * @throws {DirectError} `not-for-us`, `algorithm` or `malformed`
 */
export function decryptContent(
  der: Uint8Array,
  identities: readonly DirectIdentity[],
): Buffer {
  const enveloped = readEnvelopedData(der);
  const { contentEncryptionAlgorithm } = enveloped.encryptedContentInfo;
  const cipher = rowOf(CONTENT_CIPHERS, contentEncryptionAlgorithm.algorithmId);
  const iv = contentEncryptionAlgorithm.algorithmParams;
  if (cipher === undefined || !(iv instanceof OctetString))
    throw new DirectError(
      'algorithm',
      'The message is encrypted with something other than AES-CBC.',
    );

  const key = keyForOneOf(enveloped, identities, cipher.keyBytes);
  try {
    const decipher = createDecipheriv(cipher.name, key, bytesOf(iv));
    const content = Buffer.from(
      enveloped.encryptedContentInfo.getEncryptedContent(),
    );

    return Buffer.concat([decipher.update(content), decipher.final()]);
  } catch {
    throw notForUs();
  }
}

function readEnvelopedData(der: Uint8Array): EnvelopedData {
  try {
    const info = ContentInfo.fromBER(new Uint8Array(der));
    if (info.contentType !== CMS.envelopedData)
      throw new Error(info.contentType);

    return new EnvelopedData({ schema: info.content });
  } catch {
    throw new DirectError('malformed', 'The message is no CMS.');
  }
}

function keyForOneOf(
  { recipientInfos }: EnvelopedData,
  identities: readonly DirectIdentity[],
  keyBytes: number,
): Buffer {
  for (const { value } of recipientInfos) {
    if (!(value instanceof KeyTransRecipientInfo)) continue;

    const identity = identities.find((each) => isFor(value, each));
    const key = identity && decryptKey(value, identity);
    if (key?.length === keyBytes) return key;
  }

  throw notForUs();
}

/** By issuer and serial number, or by the key's identifier. */
function isFor(
  { rid }: KeyTransRecipientInfo,
  { certificate }: DirectIdentity,
): boolean {
  const own = toPkijs(certificate);
  if (rid instanceof IssuerAndSerialNumber)
    return (
      rid.serialNumber.isEqual(own.serialNumber) &&
      rid.issuer.isEqual(own.issuer)
    );

  const identifier = own.extensions?.find(
    ({ extnID }) => extnID === SUBJECT_KEY_IDENTIFIER,
  )?.parsedValue;

  return (
    identifier instanceof OctetString &&
    bytesOf(identifier).equals(Buffer.from(rid.valueBlock.valueHexView))
  );
}

const SUBJECT_KEY_IDENTIFIER = '2.5.29.14';

/**
 * A changed key gives random bytes instead of an error (implicit rejection of
 * OpenSSL 3.2), so that nobody learns from our answers how it decrypts.
 */
function decryptKey(
  { keyEncryptionAlgorithm, encryptedKey }: KeyTransRecipientInfo,
  { privateKey }: DirectIdentity,
): Buffer | undefined {
  const { algorithmId, algorithmParams } = keyEncryptionAlgorithm;
  try {
    if (algorithmId === CMS.rsaEncryption)
      return privateDecrypt(
        { key: privateKey, padding: constants.RSA_PKCS1_PADDING },
        bytesOf(encryptedKey),
      );
    if (algorithmId === CMS.rsaOaep)
      return privateDecrypt(
        {
          key: privateKey,
          padding: constants.RSA_PKCS1_OAEP_PADDING,
          oaepHash: oaepHash(algorithmParams),
        },
        bytesOf(encryptedKey),
      );
  } catch {
    return undefined;
  }

  return undefined;
}

/** SHA-1 is what the standard takes where nothing is said. */
function oaepHash(params: unknown): string {
  if (params === undefined) return 'sha1';

  const { hashAlgorithm } = new RSAESOAEPParams({ schema: params });

  return rowOf(DIGESTS, hashAlgorithm.algorithmId) ?? 'sha1';
}

const bytesOf = (octets: OctetString): Buffer => Buffer.from(octets.getValue());

const notForUs = (): DirectError =>
  new DirectError(
    'not-for-us',
    'The message cannot be decrypted with our keys.',
  );
