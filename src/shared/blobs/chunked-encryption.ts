import { pipeline, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createBrotliDecompress } from 'node:zlib';
import {
  DecryptionError,
  type KeyRing,
  SEAL_OVERHEAD_BYTES,
} from '../../lib/key-ring.ts';

/**
 * Encrypts a stream in bounded memory. Format: 1 byte version, 1 byte length of
 * the key id, key id, then chunks of 64 KiB plain text, each sealed separately.
 * A blob of n bytes has max(1, ceil(n / 64 KiB)) chunks, so any byte can be
 * found by its offset. Each seal covers the blob's name, the chunk's index and
 * whether it is the last one: chunks that were moved, removed, truncated or
 * taken from another blob do not decrypt. Of version 2, what the chunks hold is
 * compressed by Brotli; the seals cover that too.
 */
const PLAIN = 1;
const COMPRESSED = 2;
type FormatVersion = typeof PLAIN | typeof COMPRESSED;
const CHUNK_SIZE_BYTES = 64 * 1024;
const SEALED_CHUNK_SIZE_BYTES = CHUNK_SIZE_BYTES + SEAL_OVERHEAD_BYTES;

export async function* encryptChunks(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  keyRing: KeyRing,
  name: string,
  { isCompressed = false }: { isCompressed?: boolean } = {},
): AsyncGenerator<Buffer> {
  const version = isCompressed ? COMPRESSED : PLAIN;
  const keyId = Buffer.from(keyRing.primaryKeyId, 'utf8');
  yield Buffer.concat([Buffer.of(version, keyId.length), keyId]);
  let index = 0;
  for await (const { chunk, isLast } of inChunks(content, CHUNK_SIZE_BYTES)) {
    yield keyRing.seal(chunk, purposeOf(version, name, index, isLast)).sealed;
    index += 1;
  }
}

/**
 * The content, decompressed. Throws DecryptionError when the key is missing, or
 * the bytes differ from those written under `name`.
 */
export async function* decryptChunks(
  encrypted: AsyncIterable<Uint8Array>,
  keyRing: KeyRing,
  name: string,
): AsyncGenerator<Buffer> {
  const { header, rest } = await splitHeader(encrypted);
  const opened = openChunks(rest, keyRing, name, header);
  if (header.version === PLAIN) return yield* opened;
  // A failure of the first stream ends the last one, which is read here.
  yield* pipeline(
    Readable.from(opened),
    createBrotliDecompress(),
    () => undefined,
  );
}

async function* openChunks(
  sealed: AsyncIterable<Uint8Array>,
  keyRing: KeyRing,
  name: string,
  { keyId, version }: Header,
): AsyncGenerator<Buffer> {
  let index = 0;
  for await (const { chunk, isLast } of inChunks(
    sealed,
    SEALED_CHUNK_SIZE_BYTES,
  )) {
    yield keyRing.open(keyId, chunk, purposeOf(version, name, index, isLast));
    index += 1;
  }
}

/**
 * Random access to the encrypted bytes of a blob. `read` returns fewer bytes
 * only at the end of the blob.
 */
export interface EncryptedSource {
  sizeBytes: number;
  read(start: number, sizeBytes: number): Promise<Buffer>;
}

/**
 * Returns the plain bytes `[start, end)`, reading only the chunks that contain
 * them, or all if they are compressed. `end` may lie beyond the blob's end.
 * Fails like `decryptChunks`; each chunk is authenticated with its index, so
 * other bytes are never returned.
 */
export async function decryptRange(
  source: EncryptedSource,
  keyRing: KeyRing,
  name: string,
  start: number,
  end: number,
): Promise<Buffer> {
  const head = await source.read(0, LONGEST_HEADER_BYTES);
  const {
    keyId,
    version,
    sizeBytes: headerBytes,
  } = readHeader(head) ?? cutShort();
  if (version === COMPRESSED) {
    const whole = Readable.from([await source.read(0, source.sizeBytes)]);
    return (await buffer(decryptChunks(whole, keyRing, name))).subarray(
      start,
      Math.max(start, end),
    );
  }
  const sealedBytes = source.sizeBytes - headerBytes;
  const lastChunk = Math.max(
    0,
    Math.ceil(sealedBytes / SEALED_CHUNK_SIZE_BYTES) - 1,
  );
  const first = Math.floor(start / CHUNK_SIZE_BYTES);
  const last = Math.min(lastChunk, Math.floor((end - 1) / CHUNK_SIZE_BYTES));
  if (start >= end || first > last) return Buffer.alloc(0);
  const sealed = await source.read(
    headerBytes + first * SEALED_CHUNK_SIZE_BYTES,
    (last - first + 1) * SEALED_CHUNK_SIZE_BYTES,
  );
  const plain: Buffer[] = [];
  for (let index = first; index <= last; index += 1) {
    const place = (index - first) * SEALED_CHUNK_SIZE_BYTES;
    const chunk = sealed.subarray(place, place + SEALED_CHUNK_SIZE_BYTES);
    plain.push(
      keyRing.open(
        keyId,
        chunk,
        purposeOf(version, name, index, index === lastChunk),
      ),
    );
  }
  const from = first * CHUNK_SIZE_BYTES;
  return Buffer.concat(plain).subarray(start - from, end - from);
}

const LONGEST_HEADER_BYTES = 2 + 255;

interface Header {
  version: FormatVersion;
  keyId: string;
  sizeBytes: number;
}

/**
 * Reads the header; returns undefined while more bytes are needed. Throws
 * DecryptionError for files in another format.
 */
function readHeader(head: Buffer): Header | undefined {
  if (head.length < 2) return undefined;
  const version = head[0];
  if (version !== PLAIN && version !== COMPRESSED)
    throw new DecryptionError('The file is not a blob of this system');
  const sizeBytes = 2 + head.readUInt8(1);
  return head.length < sizeBytes
    ? undefined
    : { version, keyId: head.toString('utf8', 2, sizeBytes), sizeBytes };
}

function cutShort(): never {
  throw new DecryptionError('The blob is cut short');
}

const purposeOf = (
  version: FormatVersion,
  name: string,
  index: number,
  isLast: boolean,
): string =>
  `${version === PLAIN ? 'blob' : 'compressed-blob'}:${name}:${index}:${isLast ? 'last' : 'more'}`;

async function splitHeader(
  encrypted: AsyncIterable<Uint8Array>,
): Promise<{ header: Header; rest: AsyncIterable<Uint8Array> }> {
  const iterator = encrypted[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let header = readHeader(head);
  while (header === undefined) {
    const next = await iterator.next();
    if (next.done === true) cutShort();
    head = Buffer.concat([head, next.value]);
    header = readHeader(head);
  }
  const rest = prepend(head.subarray(header.sizeBytes), {
    [Symbol.asyncIterator]: () => iterator,
  });
  return { header, rest };
}

async function* prepend(
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

/**
 * Splits a stream into chunks of exactly `sizeBytes`, except for the last. An
 * empty stream becomes one empty chunk.
 */
async function* inChunks(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  sizeBytes: number,
): AsyncGenerator<{ chunk: Buffer; isLast: boolean }> {
  let parts: Uint8Array[] = [];
  let held = 0;
  for await (const part of content) {
    parts.push(part);
    held += part.length;
    // A chunk is known not to be the last one only when at least one more byte
    // has arrived.
    if (held <= sizeBytes) continue;
    const joined = Buffer.concat(parts);
    let start = 0;
    for (; joined.length - start > sizeBytes; start += sizeBytes)
      yield { chunk: joined.subarray(start, start + sizeBytes), isLast: false };
    parts = [joined.subarray(start)];
    held = joined.length - start;
  }
  yield { chunk: Buffer.concat(parts), isLast: true };
}
