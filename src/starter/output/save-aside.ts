import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, constants, copyFile, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Readable by the owner only: the content is about patients. */
const MODE = 0o600;
const TRIES_MAX = 1_000;

/**
 * Writes a file at this path. If another file exists there, writes to `name-2.csv`, `name-3.csv` … instead, because the
 * user may have begun to correct that file. A file with the same content is not written again.
 * Returns the path of the file.
 */
export async function saveAside(path: string, content: Readable, sha256: string): Promise<string> {
  const unfinished = join(dirname(path), `.${basename(path)}.${process.pid}.part`);
  try {
    await pipeline(content, createWriteStream(unfinished, { mode: MODE }));
    for (let number = 1; number <= TRIES_MAX; number += 1) {
      const candidate = number === 1 ? path : numbered(path, number);
      if (await isThere(candidate)) {
        if ((await sha256Of(candidate)) === sha256) return candidate;
        continue;
      }
      // Fails if a file was created in the meantime; a rename would replace it.
      const isMine = await copyFile(unfinished, candidate, constants.COPYFILE_EXCL).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') return false;
          throw error;
        },
      );
      if (isMine) return candidate;
    }
    throw new Error(`Cannot save ${path}: too many files of this name exist. Remove some of them.`);
  } finally {
    await rm(unfinished, { force: true });
  }
}

function numbered(path: string, number: number): string {
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}-${number}${extension}`;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex');
}
