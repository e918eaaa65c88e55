import {
  constants,
  createCipheriv,
  publicEncrypt,
  randomBytes,
  type X509Certificate,
} from 'node:crypto';
import { Null, OctetString } from 'asn1js';
import {
  AlgorithmIdentifier,
  EncryptedContentInfo,
  EnvelopedData,
  IssuerAndSerialNumber,
  KeyTransRecipientInfo,
  RecipientInfo,
} from 'pkijs';
import { derOf } from './cms-sign.ts';
import { toPkijs } from './identity.ts';
import { AES_256_CBC, CMS } from './oids.ts';

/**
 * Encrypts content with AES-256-CBC for the holders of certificates; the key by
 * RSA (PKCS #1 v1.5), which is what agents for Direct read.
 *
 * @returns DER of an EnvelopedData
 */
export function encryptContent(
  content: Uint8Array,
  recipients: readonly X509Certificate[],
): Buffer {
  const key = randomBytes(32);
  const iv = randomBytes(16);
  const cipher = createCipheriv('aes-256-cbc', key, iv);
  const encrypted = Buffer.concat([cipher.update(content), cipher.final()]);
  const enveloped = new EnvelopedData({
    version: 0,
    recipientInfos: recipients.map((each) => keyFor(each, key)),
    encryptedContentInfo: new EncryptedContentInfo({
      contentType: CMS.data,
      contentEncryptionAlgorithm: new AlgorithmIdentifier({
        algorithmId: AES_256_CBC,
        algorithmParams: octets(iv),
      }),
      encryptedContent: octets(encrypted),
    }),
  });

  return derOf(CMS.envelopedData, enveloped.toSchema());
}

function keyFor(certificate: X509Certificate, key: Buffer): RecipientInfo {
  const { issuer, serialNumber } = toPkijs(certificate);
  const encryptedKey = publicEncrypt(
    { key: certificate.publicKey, padding: constants.RSA_PKCS1_PADDING },
    key,
  );

  return new RecipientInfo({
    variant: 1,
    value: new KeyTransRecipientInfo({
      version: 0,
      rid: new IssuerAndSerialNumber({ issuer, serialNumber }),
      keyEncryptionAlgorithm: new AlgorithmIdentifier({
        algorithmId: CMS.rsaEncryption,
        algorithmParams: new Null(),
      }),
      encryptedKey: octets(encryptedKey),
    }),
  });
}

const octets = (bytes: Buffer): OctetString =>
  new OctetString({ valueHex: new Uint8Array(bytes) });
