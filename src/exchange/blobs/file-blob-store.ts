import { createHash, randomBytes } from 'node:crypto';

import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { KeyRing } from '../../lib/key-ring.ts';
import {
  type BlobContent,
  type BlobKind,
  BlobNotFoundError,
  type BlobRef,
  type BlobStore,
  parseBlobRef,
} from './blob-store.ts';
import { decryptChunks, encryptChunks } from './chunked-encryption.ts';

/**
 * Opens (and makes, if need be) the folder. Several processes of one machine may share it.
 *
 * A blob is written under its final, random name: nobody knows that name until `put` has told it, so a file that a
 * crash cut short is never read.
 */
export async function openFileBlobStore(folder: string, keyRing: KeyRing): Promise<BlobStore> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const known = new Set<string>();
  const pathOf = (ref: string) => {
    const { kind, name } = parseBlobRef(ref);
    return join(folder, kind, name.slice(0, 2), name);
  };
  const get = async (ref: string): Promise<Readable> => {
    const file = await open(pathOf(ref)).catch((error: unknown) => {
      throw isMissing(error) ? new BlobNotFoundError(ref) : error;
    });
    return Readable.from(decryptChunks(file.createReadStream(), keyRing, ref), { objectMode: false });
  };
  return {
    get,
    put: (kind, content, contentType) => put(kind, content, contentType),
    read: async (ref) => buffer(await get(ref)),
    delete: async (ref) => rm(pathOf(ref), { force: true }),
  };

  async function put(kind: BlobKind, content: BlobContent, contentType: string): Promise<BlobRef> {
    const ref = `${kind}/${randomBytes(16).toString('hex')}`;
    const hash = createHash('sha256');
    let sizeBytes = 0;
    const path = pathOf(ref);
    const file = await openNew(path);
    try {
      const plain = content instanceof Uint8Array ? [content] : content;
      const measured = tap(plain, (part) => {
        hash.update(part);
        sizeBytes += part.length;
      });
      await writeAll(file, encryptChunks(measured, keyRing, ref));
      await file.sync();
      await file.close();
      await syncFolder(dirname(path));
    } catch (error) {
      await file.close().catch(() => undefined);
      await rm(path, { force: true });
      throw error;
    }
    return { ref, sha256: hash.digest('hex'), sizeBytes, contentType };
  }

  async function openNew(path: string): Promise<FileHandle> {
    const parent = dirname(path);
    if (!known.has(parent)) await mkdir(parent, { recursive: true, mode: 0o700 });
    known.add(parent);
    return open(path, 'wx', 0o600);
  }
}

/** A small blob is one write. */
const WRITE_SIZE_BYTES = 1024 * 1024;

async function writeAll(file: FileHandle, chunks: AsyncIterable<Buffer>): Promise<void> {
  let waiting: Buffer[] = [];
  let sizeBytes = 0;
  const flush = async () => {
    await file.writeFile(Buffer.concat(waiting));
    waiting = [];
    sizeBytes = 0;
  };
  for await (const chunk of chunks) {
    waiting.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes >= WRITE_SIZE_BYTES) await flush();
  }
  await flush();
}

async function* tap(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  see: (part: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const part of content) {
    see(part);
    yield part;
  }
}

/** A new file is safe only when its folder has reached the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';
