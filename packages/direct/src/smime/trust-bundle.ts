import { X509Certificate } from 'node:crypto';
import { type BaseBlock, Constructed, fromBER, ObjectIdentifier } from 'asn1js';
import { DirectError } from '../direct-error.ts';
import { encapsulatedContent, verifyContent } from './cms-verify.ts';
import { CMS } from './oids.ts';

/** What a trust bundle holds. */
export interface TrustBundle {
  /** Its anchors, in its order. */
  certificates: X509Certificate[];

  /** Parts that should be certificates and are none. */
  unreadable: number;

  /** Who signed it; none for a bundle that is not signed. */
  signers: X509Certificate[];

  /** What came along with the signature, for a signer's way to an anchor. */
  signerCertificates: X509Certificate[];
}

/**
 * Reads a trust bundle ("Implementation Guide for Direct Project Trust Bundle
 * Distribution"): a CMS of certificates (`.p7b`), or such a one within a signed
 * CMS (`.p7m`); in DER, BER or PEM.
 *
 * @throws {DirectError} `malformed`; `signature` or `algorithm` for one whose
 * signature does not fit
 */
export async function readTrustBundle(bytes: Uint8Array): Promise<TrustBundle> {
  const der = withoutPem(bytes);
  const isSigned = childrenOf(signedDataOf(der).at(-1)).length > 0;
  if (!isSigned)
    return { ...certificatesIn(der), signers: [], signerCertificates: [] };

  const within = encapsulatedContent(der);
  const { signers, certificates } = await verifyContent(der, within);

  return {
    ...certificatesIn(withoutPem(within)),
    signers,
    signerCertificates: certificates,
  };
}

function withoutPem(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes).toString('latin1');
  const [, body] = /-----BEGIN [^-]+-----([^-]+)-----END/.exec(text) ?? [];

  return body === undefined ? bytes : Buffer.from(body, 'base64');
}

/**
 * One by one, so that a certificate that cannot be read does not take the
 * others with it.
 */
function certificatesIn(
  der: Uint8Array,
): Pick<TrustBundle, 'certificates' | 'unreadable'> {
  const list = signedDataOf(der).find(
    ({ idBlock }) =>
      idBlock.tagClass === CONTEXT_SPECIFIC && idBlock.tagNumber === 0,
  );
  const certificates: X509Certificate[] = [];
  let unreadable = 0;
  for (const each of childrenOf(list))
    try {
      certificates.push(new X509Certificate(each.valueBeforeDecodeView));
    } catch {
      unreadable += 1;
    }

  return { certificates, unreadable };
}

/** Of a tag: 3 as asn1js counts. */
const CONTEXT_SPECIFIC = 3;

/**
 * The fields of a SignedData: its certificates are [0], and its signers the
 * last one (RFC 5652, 5.1).
 */
function signedDataOf(der: Uint8Array): BaseBlock[] {
  const [type, content] = childrenOf(blockOf(der));
  const [signedData] = childrenOf(content);
  const isSignedData =
    type instanceof ObjectIdentifier && type.getValue() === CMS.signedData;
  if (!isSignedData || signedData === undefined)
    throw new DirectError('malformed', 'The bundle is no CMS of certificates.');

  return childrenOf(signedData);
}

/** Of some thousand certificates; the library stops at a hundred by itself. */
const NODES_MAX = 500_000;

function blockOf(der: Uint8Array): BaseBlock | undefined {
  try {
    return fromBER(new Uint8Array(der), { maxNodes: NODES_MAX }).result;
  } catch {
    return undefined;
  }
}

const childrenOf = (block: BaseBlock | undefined): BaseBlock[] =>
  block instanceof Constructed ? block.valueBlock.value : [];
