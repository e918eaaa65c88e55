import { verify, type X509Certificate } from 'node:crypto';
import { CRLDistributionPoints, type GeneralName } from 'pkijs';
import { DirectError } from '../direct-error.ts';
import { toPkijs } from './identity.ts';

/** What an authority has revoked (RFC 5280, 5). */
export interface RevocationList {
  /** Serial numbers, as `X509Certificate.serialNumber` has them. */
  revoked: ReadonlySet<string>;

  /** Until when the list speaks; undefined when it does not say. */
  nextUpdate: Date | undefined;
}

const DISTRIBUTION_POINTS = '2.5.29.31';
const URI = 6;

/**
 * The addresses at which a certificate's revocation would be published, of
 * http and https; none for a certificate that names none.
 */
export function revocationAddressesOf(certificate: X509Certificate): string[] {
  const points = distributionPointsOf(certificate);

  return points
    .flatMap(({ distributionPoint = [] }) =>
      Array.isArray(distributionPoint) ? distributionPoint : [],
    )
    .filter(({ type }: GeneralName) => type === URI)
    .map(({ value }) => String(value))
    .filter((address) => /^https?:/i.test(address));
}

function distributionPointsOf(certificate: X509Certificate) {
  try {
    const value = toPkijs(certificate).extensions?.find(
      ({ extnID }) => extnID === DISTRIBUTION_POINTS,
    )?.parsedValue;

    return value instanceof CRLDistributionPoints
      ? value.distributionPoints
      : [];
  } catch {
    return [];
  }
}

/**
 * Reads a whole revocation list, and verifies that its issuer signed it. By
 * hand, because lists may be long: of 30,000 entries, the library for ASN.1
 * makes objects for seconds, in which nothing else runs.
 *
 * @param bytes DER, or PEM
 * @throws {DirectError} `malformed`; `signature` for one that is not the
 * issuer's
 */
export function readRevocationList(
  bytes: Uint8Array,
  issuer: X509Certificate,
): RevocationList {
  const list = partsOf(bytes);
  if (!isSignedBy(issuer, list))
    throw new DirectError('signature', 'The list is not its issuer’s.');

  return { revoked: list.revoked, nextUpdate: list.nextUpdate };
}

interface ListParts extends RevocationList {
  signedBytes: Buffer;
  algorithm: string;
  signature: Buffer;
}

function partsOf(bytes: Uint8Array): ListParts {
  try {
    const [list] = elementsOf(withoutPem(bytes));
    const [signed, algorithm, signature] = elementsOf(list?.content);
    const [, ...times] = elementsOf(signed?.content).filter(isTime);
    const [name] = elementsOf(algorithm?.content);
    if (signed === undefined || isDelta(signed)) throw new RangeError();

    return {
      revoked: new Set(revokedIn(signed)),
      nextUpdate: times[0] && dateOf(times[0]),
      signedBytes: signed.whole,
      algorithm: name?.content.toString('hex') ?? '',
      // The first byte of a bit string counts unused bits.
      signature: signature?.content.subarray(1) ?? Buffer.alloc(0),
    };
  } catch {
    throw new DirectError('malformed', 'It is no whole revocation list.');
  }
}

function isSignedBy(
  { publicKey }: X509Certificate,
  { algorithm, signedBytes, signature }: ListParts,
): boolean {
  const digest = SIGNATURES.get(algorithm);

  return (
    digest !== undefined && verify(digest, signedBytes, publicKey, signature)
  );
}

/** Digests by the object identifier of a signature, in hex of its DER. */
const SIGNATURES: ReadonlyMap<string, string> = new Map([
  ['2a864886f70d01010b', 'sha256'],
  ['2a864886f70d01010c', 'sha384'],
  ['2a864886f70d01010d', 'sha512'],
  ['2a8648ce3d040302', 'sha256'],
  ['2a8648ce3d040303', 'sha384'],
  ['2a8648ce3d040304', 'sha512'],
]);

/** An element of DER: with its tag and length, and without. */
interface Element {
  tag: number;
  whole: Buffer;
  content: Buffer;
}

const INTEGER = 0x02;
const OBJECT_IDENTIFIER = 0x06;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const EXTENSIONS = 0xa0;

/** @throws RangeError for what is no DER */
function elementsOf(bytes: Buffer = Buffer.alloc(0)): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const first = bytes.readUInt8(at + 1);
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    const start = at + 2 + lengthBytes;
    const length =
      lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
    const end = start + length;
    if (end > bytes.length) throw new RangeError();

    elements.push({
      tag: bytes.readUInt8(at),
      whole: bytes.subarray(at, end),
      content: bytes.subarray(start, end),
    });
    at = end;
  }

  return elements;
}

/** The list of entries follows the times, where there is one. */
function revokedIn(signed: Element): string[] {
  const fields = elementsOf(signed.content);
  const entries = fields.at(fields.findLastIndex(isTime) + 1);
  if (entries?.tag !== SEQUENCE) return [];

  return elementsOf(entries.content).map(({ content }) => {
    const [serial] = elementsOf(content);
    if (serial?.tag !== INTEGER) throw new RangeError();

    return serialOf(serial.content);
  });
}

/** A list that only says what has changed. */
const isDelta = (signed: Element): boolean =>
  elementsOf(signed.content)
    .filter(({ tag }) => tag === EXTENSIONS)
    .flatMap(({ content }) => elementsOf(elementsOf(content)[0]?.content))
    .some(({ content }) => {
      const [id] = elementsOf(content);

      return id?.tag === OBJECT_IDENTIFIER && id.content.equals(DELTA);
    });

/** 2.5.29.27 */
const DELTA = Buffer.from('551d1b', 'hex');

const isTime = ({ tag }: Element): boolean =>
  tag === UTC_TIME || tag === GENERALIZED_TIME;

/** Years of two digits are of 1950 to 2049 (RFC 5280, 4.1.2.5). */
function dateOf({ tag, content }: Element): Date {
  const text = content.toString('latin1');
  const century = Number(text.slice(0, 2)) < 50 ? '20' : '19';
  const [, ...parts] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(
      tag === UTC_TIME ? `${century}${text}` : text,
    ) ?? [];
  if (parts.length === 0) throw new RangeError();
  const [year, month, day, hour, minute, second] = parts;

  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** In hex, without the bytes of zeros before it. */
const serialOf = (bytes: Buffer): string =>
  bytes
    .toString('hex')
    .toUpperCase()
    .replace(/^(?:00)+(?=..)/, '');

function withoutPem(bytes: Uint8Array): Buffer {
  const buffer = Buffer.from(bytes);
  const [, body] =
    /^\s*-----BEGIN X509 CRL-----([^-]+)-----END/.exec(
      buffer.toString('latin1'),
    ) ?? [];

  return body === undefined ? buffer : Buffer.from(body, 'base64');
}
