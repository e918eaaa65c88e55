import type { X509Certificate } from 'node:crypto';
import { Certificate, ContentInfo, SignedData } from 'pkijs';
import { DirectError } from '../direct-error.ts';
import { toX509 } from './identity.ts';
import { CMS, DIGESTS, rowOf } from './oids.ts';

/** Who signed something, and what certificates came along. */
export interface VerifiedSignature {
  /** One for each signer; all of them verified. */
  signers: X509Certificate[];

  certificates: X509Certificate[];
}

/**
 * Verifies the signatures over content. Whether a signer is trusted, and is the
 * sender, is another question (`isTrusted`, `speaksFor`).
 *
 * @param der a SignedData without its content
 * @throws {DirectError} `signature`, `algorithm` or `malformed`
 */
export async function verifyContent(
  der: Uint8Array,
  content: Uint8Array,
): Promise<VerifiedSignature> {
  const signed = readSignedData(der);
  if (signed.signerInfos.length === 0)
    throw new DirectError('signature', 'The message has no signature.');

  const signers: X509Certificate[] = [];
  for (const index of signed.signerInfos.keys())
    signers.push(await verifySigner(signed, index, content));

  return { signers, certificates: certificatesOf(signed) };
}

async function verifySigner(
  signed: SignedData,
  index: number,
  content: Uint8Array,
): Promise<X509Certificate> {
  const digest = signed.signerInfos[index]?.digestAlgorithm.algorithmId ?? '';
  if (rowOf(DIGESTS, digest) === undefined)
    throw new DirectError(
      'algorithm',
      'The message is signed with something weaker than SHA-256.',
    );

  const result = await signed
    .verify({
      signer: index,
      data: new Uint8Array(content).buffer,
      checkChain: false,
      extendedMode: true,
    })
    .catch(() => undefined);
  if (result?.signatureVerified !== true || !result.signerCertificate)
    throw new DirectError(
      'signature',
      'The signature of the message does not fit its content.',
    );

  return toX509(result.signerCertificate);
}

/** @throws {DirectError} `malformed` */
export function readSignedData(der: Uint8Array): SignedData {
  try {
    const info = ContentInfo.fromBER(new Uint8Array(der));
    if (info.contentType !== CMS.signedData) throw new Error(info.contentType);

    return new SignedData({ schema: info.content });
  } catch {
    throw new DirectError(
      'malformed',
      'The signature of the message is no CMS.',
    );
  }
}

/**
 * The content that stands within its signature (RFC 8551, 3.5.2).
 *
 * @throws {DirectError} `malformed`
 */
export function encapsulatedContent(der: Uint8Array): Buffer {
  const content = readSignedData(der).encapContentInfo.eContent;
  if (content === undefined)
    throw new DirectError('malformed', 'The signature has no content.');

  return Buffer.from(content.getValue());
}

export function certificatesOf({
  certificates = [],
}: SignedData): X509Certificate[] {
  return certificates.flatMap((each) =>
    each instanceof Certificate ? [toX509(each)] : [],
  );
}
