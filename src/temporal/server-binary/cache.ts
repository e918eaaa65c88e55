import { chmod, lstat, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT_CACHE = fileURLToPath(new URL('../../../.cache/temporal', import.meta.url));

const userId = (): number => process.getuid?.() ?? 0;
const userCache = (): string => join(tmpdir(), `medical-data-exchange-${userId()}`);

/** Returns the path of an executable that an earlier run has cached, or undefined. */
export async function findCached(fileName: string): Promise<string | undefined> {
  for (const folder of [PROJECT_CACHE, userCache()]) {
    const path = join(folder, fileName);
    const file = await lstat(path).catch(() => undefined);
    // Anyone can write to the temporary folder, so never run a file there that belongs to another user.
    const trusted = file?.isFile() === true && (file.uid === userId() || folder === PROJECT_CACHE);
    if (trusted && (file.mode & 0o111) !== 0) return path;
  }
  return undefined;
}

/**
 * Lets `fetch` write an executable into a new folder, and then moves it into the cache atomically, so that parallel or
 * killed processes never leave an incomplete file. `fetch` returns the path of the executable inside the given folder.
 */
export async function fillCache(
  fileName: string,
  fetch: (folder: string) => Promise<string>,
): Promise<string> {
  const cache = await writableCache();
  const workFolder = await mkdtemp(join(cache, 'incoming-'));
  try {
    const fetched = await fetch(workFolder);
    await chmod(fetched, 0o755);
    const path = join(cache, fileName);
    await rename(fetched, path);
    return path;
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

async function writableCache(): Promise<string> {
  try {
    await mkdir(PROJECT_CACHE, { recursive: true });
    await rm(await mkdtemp(join(PROJECT_CACHE, 'probe-')), { recursive: true });
    return PROJECT_CACHE;
  } catch {
    const folder = userCache();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const found = await lstat(folder);
    if (!found.isDirectory() || found.uid !== userId() || (found.mode & 0o022) !== 0)
      throw new Error(
        `the cache folder ${folder} is not a private folder of this user; delete it or change its owner`,
      );
    return folder;
  }
}
