import { createHash, randomBytes } from 'node:crypto';

import { type FileHandle, mkdir, open, opendir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { KeyRing } from '../../lib/key-ring.ts';
import {
  BLOB_KINDS,
  type BlobContent,
  type BlobKind,
  BlobNotFoundError,
  type BlobRef,
  type BlobStore,
  isBlobRef,
  type ListedBlob,
  parseBlobRef,
} from './blob-store.ts';
import { decryptChunks, decryptRange, encryptChunks } from './chunked-encryption.ts';

/**
 * Opens the folder, and creates it if necessary. Several processes on one machine may share it.
 *
 * A blob is written under its final, random name. `put` returns the name only when the file is complete, so a file that a
 * crash has truncated is never read.
 */
export async function openFileBlobStore(folder: string, keyRing: KeyRing): Promise<BlobStore> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const known = new Set<string>();
  const pathOf = (ref: string) => {
    const { kind, name } = parseBlobRef(ref);
    return join(folder, kind, name.slice(0, 2), name);
  };
  const openKnown = (ref: string): Promise<FileHandle> =>
    open(pathOf(ref)).catch((error: unknown) => {
      throw isMissing(error) ? new BlobNotFoundError(ref) : error;
    });
  const get = async (ref: string): Promise<Readable> => {
    const file = await openKnown(ref);
    const sealed = file.createReadStream();
    const content = Readable.from(decryptChunks(sealed, keyRing, ref), { objectMode: false });
    // A generator that was never started does not close its input, so close it here.
    return content.once('close', () => sealed.destroy());
  };
  const getRange = async (ref: string, start: number, end: number): Promise<Buffer> => {
    const file = await openKnown(ref);
    try {
      const source = {
        sizeBytes: (await file.stat()).size,
        read: (at: number, size: number) => readAt(file, at, size),
      };
      return await decryptRange(source, keyRing, ref, start, end);
    } finally {
      await file.close();
    }
  };
  return {
    get,
    getRange,
    put: (kind, content, contentType) => put(kind, content, contentType),
    read: async (ref) => buffer(await get(ref)),
    delete: async (ref) => rm(pathOf(ref), { force: true }),
    deleteWrittenBefore: (kind, before) => deleteWrittenBefore(join(folder, kind), before),
    list: (digits) => list(folder, digits),
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

/** Returns fewer bytes only at the end of the file. */
async function readAt(file: FileHandle, position: number, sizeBytes: number): Promise<Buffer> {
  const target = Buffer.allocUnsafe(sizeBytes);
  let filled = 0;
  while (filled < sizeBytes) {
    const { bytesRead } = await file.read(target, filled, sizeBytes - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return target.subarray(0, filled);
}

/** Chunks are collected up to this size, so that a small blob takes a single write. */
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

async function deleteWrittenBefore(folder: string, before: Date): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  let deleted = 0;
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Another process may have deleted it already.
    const written = await stat(path).catch(() => undefined);
    if (written === undefined || written.mtime >= before) continue;
    await rm(path, { force: true });
    deleted += 1;
  }
  return deleted;
}

async function* list(folder: string, digits: string): AsyncGenerator<ListedBlob> {
  for (const kind of BLOB_KINDS) {
    const names = await opendir(join(folder, kind, digits)).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    for await (const { name } of names) {
      const ref = `${kind}/${name}`;
      // It may have been deleted since the folder was listed.
      const written = await stat(join(folder, kind, digits, name)).catch(() => undefined);
      if (written !== undefined && isBlobRef(ref)) yield { ref, writtenAt: written.mtime };
    }
  }
}

/** Flushes the folder to disk: without this, a new file may be lost in a crash. */
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
