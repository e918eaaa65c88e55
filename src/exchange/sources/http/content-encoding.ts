import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * The codings of a Content-Encoding header that are to be undone; undefined when we cannot. We ask for none, but a proxy
 * before the source may choose one. More than one is refused: no server has a use for it, and each multiplies the bytes.
 */
export function codingsOf(header: string): readonly string[] | undefined {
  const codings = header.split(',').map((coding) => coding.trim().toLowerCase());
  const coded = codings.filter((coding) => coding !== '' && coding !== 'identity');
  return coded.length <= 1 && coded.every((coding) => Object.hasOwn(DECODERS, coding)) ? coded : undefined;
}

/** The decoded body. The caller bounds what comes out: a few bytes may become gigabytes. */
export function decodedBody(body: Readable, [coding]: readonly string[]): Readable {
  const createDecoder = coding === undefined ? undefined : DECODERS[coding];
  if (createDecoder === undefined) return body;
  // The reader sees every failure; `pipeline` destroys both streams whichever ends first.
  return pipeline(body, createDecoder(), () => undefined);
}

/** Whether a decoder found its input broken, not the connection. */
export const isDecodingError = (code: string): boolean => /^(Z_|ERR_BROTLI|ERR_+ERROR_)/.test(code);
