import { DirectError } from '../direct-error.ts';

/**
 * A MIME entity with its exact bytes, which a signature is over. What stands in
 * it is read by `readMail`.
 */
export interface MimeEntity {
  bytes: Buffer;

  /** In lower case, without parameters. */
  type: string;

  /** The first header of a name, unfolded. */
  header(name: string): string | undefined;

  /** The lines of its headers but for some, each with its line end. */
  headersWithout(name: RegExp): string;

  /** Its content, with its transfer encoding undone. */
  content(): Buffer;

  /** Its content as it stands there. */
  body: Buffer;
}

/** Reads the headers of an entity; what follows the empty line is its body. */
export function readEntity(given: Uint8Array): MimeEntity {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const end = endOfHeaders(bytes);
  const lines = bytes.toString('latin1', 0, end.at).split(/\r?\n(?![ \t])/);
  const body = bytes.subarray(end.next);

  const header = (name: string): string | undefined =>
    lines
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .replaceAll(/\r?\n[ \t]+/g, ' ')
      .trim();

  return {
    bytes,
    body,
    type: header('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '',
    header,
    headersWithout: (name) =>
      lines
        .filter((line) => line !== '' && !name.test(line))
        .map((line) => `${line}\r\n`)
        .join(''),
    content: () => decoded(body, header('content-transfer-encoding')),
  };
}

/**
 * The signed part of a `multipart/signed` with its exact bytes, and the
 * signature.
 *
 * @throws {DirectError} `malformed`
 */
export function signedParts(entity: MimeEntity): {
  signedBytes: Buffer;
  signature: Buffer;
} {
  const boundary = /boundary\s*=\s*(?:"([^"]+)"|([^\s;]+))/i.exec(
    entity.header('content-type') ?? '',
  );
  const [signed, signature] = partsOf(
    entity.body,
    boundary?.[1] ?? boundary?.[2] ?? '',
  );
  if (signed === undefined || signature === undefined)
    throw new DirectError('malformed', 'The signed message lacks a part.');

  return { signedBytes: signed, signature: readEntity(signature).content() };
}

/** The line end before a boundary belongs to the boundary. */
function partsOf(body: Buffer, boundary: string): Buffer[] {
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  const parts: Buffer[] = [];
  let start: number | undefined;

  for (
    let at = body.indexOf(delimiter);
    at >= 0;
    at = body.indexOf(delimiter, at + 1)
  ) {
    if (at > 0 && body[at - 1] !== LINE_FEED) continue;

    if (start !== undefined)
      parts.push(body.subarray(start, lineEndBefore(body, at)));

    const lineEnd = body.indexOf(LINE_FEED, at);
    if (lineEnd < 0) break;

    start = lineEnd + 1;
  }

  return parts;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

function lineEndBefore(body: Buffer, at: number): number {
  return body[at - 2] === CARRIAGE_RETURN ? at - 2 : at - 1;
}

function endOfHeaders(bytes: Buffer): { at: number; next: number } {
  const withReturns = bytes.indexOf('\r\n\r\n');
  const without = bytes.indexOf('\n\n');
  if (withReturns >= 0 && (without < 0 || withReturns < without))
    return { at: withReturns, next: withReturns + 4 };

  return without >= 0
    ? { at: without, next: without + 2 }
    : { at: bytes.length, next: bytes.length };
}

function decoded(body: Buffer, encoding = ''): Buffer {
  switch (encoding.toLowerCase()) {
    case 'base64':
      return Buffer.from(body.toString('latin1'), 'base64');
    case 'quoted-printable':
      return Buffer.from(
        body
          .toString('latin1')
          .replaceAll(/=[ \t]*\r?\n/g, '')
          .replaceAll(/=([\dA-Fa-f]{2})/g, (_, digits: string) =>
            String.fromCharCode(Number.parseInt(digits, 16)),
          ),
        'latin1',
      );
    default:
      return body;
  }
}
