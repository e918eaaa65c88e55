import { createHash, webcrypto } from 'node:crypto';
import { ObjectIdentifier, OctetString, UTCTime } from 'asn1js';
import {
  Attribute,
  ContentInfo,
  EncapsulatedContentInfo,
  IssuerAndSerialNumber,
  SignedAndUnsignedAttributes,
  SignedData,
  SignerInfo,
} from 'pkijs';
import { type DirectIdentity, toPkijs } from './identity.ts';
import { CMS } from './oids.ts';

/**
 * Signs content with SHA-256; the content is not part of the signature
 * (RFC 8551, 3.5.3).
 *
 * @returns DER of a SignedData with our certificate and its chain
 */
export async function signContent(
  content: Uint8Array,
  { certificate, privateKey, chain }: DirectIdentity,
  signedAt: Date,
): Promise<Buffer> {
  const signer = toPkijs(certificate);
  const signed = new SignedData({
    version: 1,
    encapContentInfo: new EncapsulatedContentInfo({ eContentType: CMS.data }),
    signerInfos: [
      new SignerInfo({
        version: 1,
        sid: new IssuerAndSerialNumber({
          issuer: signer.issuer,
          serialNumber: signer.serialNumber,
        }),
        signedAttrs: signedAttributes(content, signedAt),
      }),
    ],
    certificates: [signer, ...chain.map(toPkijs)],
  });
  const key = await webcrypto.subtle.importKey(
    'pkcs8',
    new Uint8Array(privateKey.export({ type: 'pkcs8', format: 'der' })),
    { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    false,
    ['sign'],
  );
  await signed.sign(key, 0, 'SHA-256', new Uint8Array(content));

  return derOf(CMS.signedData, signed.toSchema(true));
}

function signedAttributes(
  content: Uint8Array,
  signedAt: Date,
): SignedAndUnsignedAttributes {
  const digest = createHash('sha256').update(content).digest();

  return new SignedAndUnsignedAttributes({
    type: 0,
    attributes: [
      new Attribute({
        type: CMS.contentType,
        values: [new ObjectIdentifier({ value: CMS.data })],
      }),
      new Attribute({
        type: CMS.signingTime,
        values: [new UTCTime({ valueDate: signedAt })],
      }),
      new Attribute({
        type: CMS.messageDigest,
        values: [new OctetString({ valueHex: new Uint8Array(digest) })],
      }),
    ],
  });
}

/** A ContentInfo of a type. */
export function derOf(contentType: string, content: unknown): Buffer {
  const info = new ContentInfo({ contentType, content });

  return Buffer.from(info.toSchema().toBER());
}
