import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * The codings of a Content-Encoding header that must be decoded; undefined when they are not supported. We request none,
 * but a proxy in front of the source may apply one. More than one is refused: it has no legitimate use, and each coding
 * multiplies the decoded size.
 */
export function codingsOf(header: string): readonly string[] | undefined {
  const codings = header.split(',').map((coding) => coding.trim().toLowerCase());
  const coded = codings.filter((coding) => coding !== '' && coding !== 'identity');
  return coded.length <= 1 && coded.every((coding) => Object.hasOwn(DECODERS, coding)) ? coded : undefined;
}

/** The decoded body. The caller must limit its size: a few bytes may expand to gigabytes. */
export function decodedBody(body: Readable, [coding]: readonly string[]): Readable {
  const createDecoder = coding === undefined ? undefined : DECODERS[coding];
  if (createDecoder === undefined) return body;
  // The reader sees every failure; `pipeline` destroys both streams whichever ends first.
  return pipeline(body, createDecoder(), () => undefined);
}

/** Whether an error code comes from a decoder with invalid input, not from the connection. */
export const isDecodingError = (code: string): boolean => /^(Z_|ERR_BROTLI|ERR_+ERROR_)/.test(code);
