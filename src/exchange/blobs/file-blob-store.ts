import { createHash, randomBytes } from 'node:crypto';

import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
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

/** Files written aside that a crash left behind are swept when they are older than any write can be. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;

/** Opens (and makes, if need be) the folder. Several processes of one machine may share it. */
export async function openFileBlobStore(folder: string, keyRing: KeyRing): Promise<BlobStore> {
  const aside = join(folder, '.writing');
  await mkdir(aside, { recursive: true, mode: 0o700 });
  await sweep(aside);
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
    const temporary = join(aside, randomBytes(16).toString('hex'));
    const hash = createHash('sha256');
    let sizeBytes = 0;
    const file = await open(temporary, 'wx', 0o600);
    try {
      const plain = content instanceof Uint8Array ? [content] : content;
      const measured = tap(plain, (part) => {
        hash.update(part);
        sizeBytes += part.length;
      });
      for await (const chunk of encryptChunks(measured, keyRing, ref)) await file.writeFile(chunk);
      await file.sync();
      await file.close();
      await mkdir(dirname(pathOf(ref)), { recursive: true, mode: 0o700 });
      await rename(temporary, pathOf(ref));
      await syncFolder(dirname(pathOf(ref)));
    } catch (error) {
      await file.close().catch(() => undefined);
      await rm(temporary, { force: true });
      throw error;
    }
    return { ref, sha256: hash.digest('hex'), sizeBytes, contentType };
  }
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

/** A rename is safe only when its folder has reached the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function sweep(aside: string): Promise<void> {
  for (const name of await readdir(aside)) {
    const path = join(aside, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS)
      await rm(path, { force: true });
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';
