import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, constants, copyFile, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Of its owner only: it is about patients. */
const MODE = 0o600;
const TRIES_MAX = 1_000;

/**
 * Writes a file under this path, or, where another one stands there already, under `name-2.csv`, `name-3.csv` …: a
 * person may have begun to correct the one before. The same content is not written twice.
 * Returns its path.
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
      // Fails where a file has come meanwhile; a rename would replace it.
      const isMine = await copyFile(unfinished, candidate, constants.COPYFILE_EXCL).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') return false;
          throw error;
        },
      );
      if (isMine) return candidate;
    }
    throw new Error(`There are too many files called like ${path}`);
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
