import {
  type FileHandle,
  mkdir,
  open,
  opendir,
  readdir,
  rm,
  stat,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { KeyRing } from '../../lib/key-ring.ts';
import {
  BlobNotFoundError,
  type BlobStore,
  isBlobRef,
  type ListedBlob,
  parseBlobRef,
} from './blob-store.ts';
import {
  encryptedBlobStore,
  type SealedStorage,
} from './encrypted-blob-store.ts';

/**
 * Opens the folder, and creates it if necessary. Several processes on one
 * machine may share it.
 */
export const openFileBlobStore = async (
  folder: string,
  keyRing: KeyRing,
): Promise<BlobStore> => encryptedBlobStore(await openFolder(folder), keyRing);

/**
 * A blob is written under its final, random name. `put` returns the name only
 * when the file is complete, so a file that a crash has truncated is never
 * read.
 */
export async function openFolder(folder: string): Promise<SealedStorage> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const known = new Set<string>();
  const pathOf = (ref: string) => {
    const { kind, name } = parseBlobRef(ref);
    return join(folder, kind, name.slice(0, 2), name);
  };
  const found = <T>(ref: string, file: Promise<T>): Promise<T> =>
    file.catch((error: unknown) => {
      throw isMissing(error) ? new BlobNotFoundError(ref) : error;
    });
  const openKnown = (ref: string): Promise<FileHandle> =>
    found(ref, open(pathOf(ref)));
  return {
    write,
    read: async (ref) => (await openKnown(ref)).createReadStream(),
    async withSource(ref, use) {
      const { size: sizeBytes } = await found(ref, stat(pathOf(ref)));
      // A caller that asks for the size only opens no file.
      let file: Promise<FileHandle> | undefined;
      const read = async (at: number, size: number) => {
        file ??= openKnown(ref);
        return readAt(await file, at, size);
      };
      try {
        return await use({ sizeBytes, read });
      } finally {
        await (await file)?.close();
      }
    },
    delete: async (ref) => rm(pathOf(ref), { force: true }),
    deleteWrittenBefore: (kind, before) =>
      deleteWrittenBefore(join(folder, kind), before),
    list: (kind, digits) => list(folder, kind, digits),
  };

  async function write(
    ref: string,
    sealed: AsyncIterable<Buffer>,
  ): Promise<void> {
    const path = pathOf(ref);
    const file = await openNew(path);
    try {
      await writeAll(file, sealed);
      await file.sync();
      await file.close();
      await syncFolder(dirname(path));
    } catch (error) {
      await file.close().catch(() => undefined);
      await rm(path, { force: true });
      throw error;
    }
  }

  async function openNew(path: string): Promise<FileHandle> {
    const parent = dirname(path);
    if (!known.has(parent))
      await mkdir(parent, { recursive: true, mode: 0o700 });
    known.add(parent);
    return open(path, 'wx', 0o600);
  }
}

/** Returns fewer bytes only at the end of the file. */
async function readAt(
  file: FileHandle,
  position: number,
  sizeBytes: number,
): Promise<Buffer> {
  const target = Buffer.allocUnsafe(sizeBytes);
  let filled = 0;
  while (filled < sizeBytes) {
    const { bytesRead } = await file.read(
      target,
      filled,
      sizeBytes - filled,
      position + filled,
    );
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return target.subarray(0, filled);
}

/**
 * Chunks are collected up to this size, so that a small blob takes a single
 * write.
 */
const WRITE_SIZE_BYTES = 1024 * 1024;

async function writeAll(
  file: FileHandle,
  chunks: AsyncIterable<Buffer>,
): Promise<void> {
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

async function deleteWrittenBefore(
  folder: string,
  before: Date,
): Promise<number> {
  const entries = await readdir(folder, {
    recursive: true,
    withFileTypes: true,
  }).catch((error: unknown) => {
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

async function* list(
  folder: string,
  kind: string,
  digits: string,
): AsyncGenerator<ListedBlob> {
  const names = await opendir(join(folder, kind, digits)).catch(
    (error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    },
  );
  for await (const { name } of names) {
    const ref = `${kind}/${name}`;
    // It may have been deleted since the folder was listed.
    const written = await stat(join(folder, kind, digits, name)).catch(
      () => undefined,
    );
    if (written !== undefined && isBlobRef(ref))
      yield { ref, writtenAt: written.mtime, sizeBytes: written.size };
  }
}

/**
 * Flushes the folder to disk: without this, a new file may be lost in a crash.
 */
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
