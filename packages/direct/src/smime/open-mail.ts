import type { X509Certificate } from 'node:crypto';
import { DirectError } from '../direct-error.ts';
import { decryptContent } from './cms-decrypt.ts';
import { encapsulatedContent, verifyContent } from './cms-verify.ts';
import type { DirectIdentity } from './identity.ts';
import { type MimeEntity, readEntity, signedParts } from './mime-entity.ts';

/** A message that was decrypted, and whose signature fits. */
export interface OpenedMail {
  /** The message itself, for `readMail`. */
  mail: Buffer;

  signers: X509Certificate[];

  /** What came along, for the way to an anchor. */
  certificates: X509Certificate[];
}

const NESTING_MAX = 5;

/**
 * Decrypts a message and verifies its signatures. Whoever takes it must ask
 * whether a signer is trusted (`isTrusted`) and may speak for the sender
 * (`speaksFor`).
 *
 * @throws {DirectError} `unprotected`, `not-for-us`, `signature`, `algorithm`
 * or `malformed`
 */
export async function openMail(
  bytes: Uint8Array,
  identities: readonly DirectIdentity[],
): Promise<OpenedMail> {
  const outer = readEntity(bytes);
  if (!isPkcs7(outer) || isSignedOnly(outer))
    throw new DirectError('unprotected', 'The message is not encrypted.');

  const inner = decryptContent(outer.content(), identities);
  const { content, signers, certificates } = await verified(readEntity(inner));

  return { mail: withoutWrapping(content, outer), signers, certificates };
}

interface VerifiedContent {
  content: MimeEntity;
  signers: X509Certificate[];
  certificates: X509Certificate[];
}

async function verified(entity: MimeEntity): Promise<VerifiedContent> {
  if (entity.type === 'multipart/signed') {
    const { signedBytes, signature } = signedParts(entity);
    const found = await verifyContent(signature, signedBytes);

    return { content: readEntity(signedBytes), ...found };
  }

  if (isPkcs7(entity)) {
    const der = entity.content();
    const bytes = encapsulatedContent(der);
    const found = await verifyContent(der, bytes);

    return { content: readEntity(bytes), ...found };
  }

  throw new DirectError('unprotected', 'The message is not signed.');
}

/**
 * The message within: as a whole, where the sender wrapped it, else the outer
 * headers with the inner content.
 */
function withoutWrapping(entity: MimeEntity, outer: MimeEntity): Buffer {
  let inner = entity;

  for (let depth = 0; inner.type === 'message/rfc822'; depth++) {
    if (depth === NESTING_MAX)
      throw new DirectError('malformed', 'The message nests too deep.');

    const content = inner.content();
    const next = readEntity(content);
    if (next.header('from') !== undefined) return content;

    inner = next;
  }

  return Buffer.concat([
    Buffer.from(outer.headersWithout(/^content-/i)),
    inner.bytes,
  ]);
}

function isPkcs7({ type }: MimeEntity): boolean {
  return (
    type === 'application/pkcs7-mime' || type === 'application/x-pkcs7-mime'
  );
}

function isSignedOnly(entity: MimeEntity): boolean {
  return /smime-type\s*=\s*"?signed-data/i.test(
    entity.header('content-type') ?? '',
  );
}
