import type { KeyObject } from 'node:crypto';
import { ExclusiveCanonicalization, SignedXml } from 'xml-crypto';
import { IheError } from '../ihe-error.ts';
import { readXml } from '../xml/read-xml.ts';
import type { XmlElement } from '../xml/xml-element.ts';
import type { DomElement, DomNode } from './dom.ts';
import { ENVELOPED, EXCLUSIVE, SHA_1 } from './sign-xml.ts';

/**
 * Verifies one signature of a document, and returns what it signs, as it was
 * signed: read nothing else.
 *
 * @param key the key that must have signed; what the signature says of its key
 *   is not looked at
 * @throws {IheError} `security.signature` or `security.algorithm`
 */
export function verifySignature(
  document: string,
  signature: DomElement,
  { key, takesSha1 }: { key: KeyObject; takesSha1: boolean },
): XmlElement[] {
  const verifier = new SignedXml({
    publicCert: key,
    getCertFromKeyInfo: () => null,
  });
  restrictAlgorithms(verifier, takesSha1);
  try {
    verifier.loadSignature(signature as unknown as DomNode);
  } catch {
    throw wrong('A signature of the request is not as it must be.');
  }
  refuseOtherAlgorithms(verifier);
  if (verifier.getReferences().length > REFERENCES_MAX)
    throw wrong('A signature of the request is over too many elements.');

  if (!isRight(verifier, document))
    throw wrong('A signature of the request does not fit what it signs.');
  return verifier
    .getSignedReferences()
    .map((signed) => readXml(Buffer.from(signed)));
}

function isRight(verifier: SignedXml, document: string): boolean {
  try {
    return verifier.checkSignature(document);
  } catch {
    // What it says may quote the request.
    return false;
  }
}

/** Each is looked for in the whole request, before the key is asked. */
const REFERENCES_MAX = 10;

/**
 * Namespaces are ordered by code points (Canonical XML 2.2). xml-crypto 6.3.2
 * orders them as a language does, and so finds WSS4J's signatures wrong whose
 * list of prefixes has `S` beside `ds`.
 */
class OrderedCanonicalization extends ExclusiveCanonicalization {
  override nsCompare(
    left: { prefix: string },
    right: { prefix: string },
  ): number {
    if (left.prefix === right.prefix) return 0;
    return left.prefix < right.prefix ? -1 : 1;
  }
}

/** Leaves the algorithms that are taken; all others are unknown then. */
function restrictAlgorithms(verifier: SignedXml, takesSha1: boolean): void {
  const { [ENVELOPED]: enveloped } = verifier.CanonicalizationAlgorithms;
  verifier.CanonicalizationAlgorithms = {
    [EXCLUSIVE]: OrderedCanonicalization,
    ...(enveloped && { [ENVELOPED]: enveloped }),
  };
  if (takesSha1) return;
  delete verifier.SignatureAlgorithms[SHA_1.signature];
  delete verifier.HashAlgorithms[SHA_1.digest];
}

/** Tells an algorithm that is not taken from a signature that is wrong. */
function refuseOtherAlgorithms(verifier: SignedXml): void {
  const taken = {
    ...verifier.CanonicalizationAlgorithms,
    ...verifier.SignatureAlgorithms,
    ...verifier.HashAlgorithms,
  };
  const used = [
    verifier.signatureAlgorithm ?? '',
    verifier.canonicalizationAlgorithm ?? '',
    ...verifier
      .getReferences()
      .flatMap((each) => [each.digestAlgorithm, ...each.transforms]),
  ];
  if (used.some((each) => !Object.hasOwn(taken, each)))
    throw new IheError(
      'security.algorithm',
      'A signature of the request uses an algorithm that is not taken.',
    );
}

const wrong = (message: string): IheError =>
  new IheError('security.signature', message);
