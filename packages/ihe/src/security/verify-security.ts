import { type KeyObject, X509Certificate } from 'node:crypto';
import { IheError } from '../ihe-error.ts';
import { DSIG, SAML, SOAP, WSSE, WSU } from '../namespaces.ts';
import type { Envelope } from '../soap/read-envelope.ts';
import { decodeXml } from '../xml/decode-xml.ts';
import { readXml, type XmlLimits } from '../xml/read-xml.ts';
import {
  attributeOf,
  firstNamed,
  isNamed,
  type XmlElement,
  xmlText,
} from '../xml/xml-element.ts';
import { rsaNumbers } from './credentials.ts';
import { type DomElement, domChildren, parseDom } from './dom.ts';
import { readAssertion, type SamlAssertion } from './read-assertion.ts';
import { verifySignature } from './verify-signature.ts';

export interface VerifyOptions {
  /** The client certificate of the TLS connection that the request came on. */
  clientCertificate: X509Certificate;
  /** Takes SHA-1, for the few peers that sign with no other. */
  takesSha1?: boolean;
  /** By how many minutes clocks may be off. */
  skewMinutes?: number;
  /**
   * Returns true when this message was here before, and remembers it until it
   * has ended. The signature is that of the timestamp; a MessageID is not
   * signed.
   */
  isReplay?: (message: {
    messageId: string | undefined;
    signature: string;
    until: Date;
  }) => boolean | Promise<boolean>;
  /** Now, unless tests say otherwise. */
  now?: Date;
}

/**
 * The XML of a request, whose documents are attachments. What is verified is
 * written anew as canonical XML, whose time grows with the elements multiplied
 * by the namespaces around them.
 */
const LIMITS: Partial<XmlLimits> = { bytes: 4 * 1024 * 1024, nodes: 10_000 };

/**
 * Verifies the WS-Security of a request: both signatures are of the key of the
 * TLS connection, the assertion is for the holder of that key, times are within
 * five minutes, and nothing is read but what was signed. Whether the client
 * certificate is trusted is the server's matter (TLS).
 *
 * @returns what the signed assertion says
 * @throws {IheError} `security.…`, or `too-large`, with a message that may be
 *   told to the sender
 */
export async function verifySecurity(
  request: Envelope<unknown>,
  options: VerifyOptions,
): Promise<SamlAssertion> {
  readXml(request.source, { charset: request.charset, limits: LIMITS });
  const source = decodeXml(request.source, request.charset);
  const parts = partsOf(parseDom(source));
  const verify = (signature: DomElement) =>
    verifySignature(source, signature, {
      key: options.clientCertificate.publicKey,
      takesSha1: options.takesSha1 ?? false,
    });

  const assertion = onlySigned(
    verify(parts.assertionSignature),
    (signed) =>
      isNamed(signed, SAML, 'Assertion') &&
      attributeOf(signed, 'ID') === parts.assertionId,
  );
  const timestamp = onlySigned(
    verify(parts.timestampSignature),
    (signed) =>
      isNamed(signed, WSU, 'Timestamp') &&
      attributeOf(signed, 'Id', WSU) === parts.timestampId,
  );

  const facts = readAssertion(assertion);
  refuseOtherHolder(facts, options.clientCertificate.publicKey);
  const until = refuseOtherTime(timestamp, facts, options);
  const isReplay = await options.isReplay?.({
    messageId: request.messageId,
    signature: parts.signatureValue,
    until,
  });
  if (isReplay)
    throw new IheError('security.replay', 'This request was sent before.');
  return facts;
}

/** Where things stand in the header; nothing of it may be believed yet. */
interface SecurityParts {
  assertionId: string;
  timestampId: string;
  assertionSignature: DomElement;
  timestampSignature: DomElement;
  signatureValue: string;
}

function partsOf(envelope: DomElement): SecurityParts {
  const header = only(domChildren(envelope, SOAP, 'Header'), 'SOAP header');
  const security = only(domChildren(header, WSSE, 'Security'), 'wsse:Security');
  const assertion = only(
    domChildren(security, SAML, 'Assertion'),
    'saml2:Assertion',
  );
  const timestamp = only(
    domChildren(security, WSU, 'Timestamp'),
    'wsu:Timestamp',
  );
  const timestampId = timestamp.getAttributeNS(WSU, 'Id') ?? '';
  const timestampSignature = only(
    domChildren(security, DSIG, 'Signature').filter((each) =>
      referencesOf(each).includes(`#${timestampId}`),
    ),
    'ds:Signature of the timestamp',
  );
  const [signatureValue] = domChildren(
    timestampSignature,
    DSIG,
    'SignatureValue',
  );
  return {
    assertionId: assertion.getAttribute('ID') ?? '',
    timestampId,
    assertionSignature: only(
      domChildren(assertion, DSIG, 'Signature'),
      'ds:Signature of the assertion',
    ),
    timestampSignature,
    signatureValue: signatureValue?.textContent?.replaceAll(/\s/g, '') ?? '',
  };
}

const referencesOf = (signature: DomElement): (string | null)[] =>
  domChildren(signature, DSIG, 'SignedInfo')
    .flatMap((info) => domChildren(info, DSIG, 'Reference'))
    .map((reference) => reference.getAttribute('URI'));

function only(found: readonly DomElement[], what: string): DomElement {
  const [one, another] = found;
  if (one === undefined || another !== undefined)
    throw new IheError(
      'security.missing',
      `The request must have exactly one ${what}.`,
    );
  return one;
}

/** What was signed, if it is what the header shows in that place. */
function onlySigned(
  signed: readonly XmlElement[],
  isIt: (element: XmlElement) => boolean,
): XmlElement {
  const found = signed.filter(isIt);
  const [one] = found;
  if (one === undefined || found.length > 1)
    throw new IheError(
      'security.signature',
      'A signature of the request is over something else.',
    );
  return one;
}

/** The assertion must be for the holder of the key that the request came with. */
function refuseOtherHolder({ holder }: SamlAssertion, key: KeyObject): void {
  const own = rsaNumbers(key);
  const value = firstNamed(holder, DSIG, 'KeyValue', 'RSAKeyValue');
  const certificate = xmlText(
    firstNamed(holder, DSIG, 'X509Data', 'X509Certificate'),
  );
  const named =
    value === undefined
      ? numbersOfCertificate(certificate)
      : {
          modulus: xmlText(firstNamed(value, DSIG, 'Modulus')),
          exponent: xmlText(firstNamed(value, DSIG, 'Exponent')),
        };
  const isOwn =
    isSameNumber(named?.modulus, own.modulus) &&
    isSameNumber(named?.exponent, own.exponent);
  if (!isOwn)
    throw new IheError(
      'security.key',
      'The assertion is not for the holder of the TLS certificate.',
    );
}

function numbersOfCertificate(
  base64: string | undefined,
): { modulus: string; exponent: string } | undefined {
  if (base64 === undefined) return undefined;
  try {
    const { publicKey } = new X509Certificate(Buffer.from(base64, 'base64'));
    return rsaNumbers(publicKey);
  } catch {
    return undefined;
  }
}

/** Some write a number with leading zeros, or over several lines. */
function isSameNumber(left: string | undefined, right: string): boolean {
  const number = (base64: string) =>
    Buffer.from(base64, 'base64').toString('hex').replace(/^0+/, '');
  return left !== undefined && number(left) === number(right);
}

/**
 * How long a request may be under way, whatever it says itself: a timestamp
 * that holds for years could be sent again for as long.
 */
const LIFETIME_MINUTES = 5;

/** Returns when the message has ended, skew included. */
function refuseOtherTime(
  timestamp: XmlElement,
  { notBefore, notOnOrAfter }: SamlAssertion,
  { now = new Date(), skewMinutes = 5 }: VerifyOptions,
): Date {
  const skew = skewMinutes * 60_000;
  const created = timeOf(xmlText(firstNamed(timestamp, WSU, 'Created')));
  const oldest = created + LIFETIME_MINUTES * 60_000;
  const expires = xmlText(firstNamed(timestamp, WSU, 'Expires'));
  const ends = [oldest, timeOf(notOnOrAfter)];
  if (expires !== undefined) ends.push(timeOf(expires));
  const until = Math.min(...ends) + skew;
  const from = Math.max(created, timeOf(notBefore)) - skew;
  if (!(from <= now.getTime() && now.getTime() < until))
    throw new IheError(
      'security.time',
      `The request is not of this time (${now.toISOString()}): it is too old, or a clock is off by more than ${skewMinutes} minutes.`,
    );
  return new Date(until);
}

/** NaN, which is of no time, when it is missing or has no zone. */
const timeOf = (written: string | undefined): number =>
  written !== undefined && /(?:Z|[+-]\d\d:\d\d)$/.test(written)
    ? Date.parse(written)
    : Number.NaN;
