import { chmod, copyFile, lchown, lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Copies a folder whose files may change meanwhile, with modes and, where allowed, owners. Files that disappear during the
 * copy are left out. `skip` receives paths relative to the folder. Returns the number of files.
 */
export async function copyLive(
  from: string,
  to: string,
  skip: (path: string) => boolean = () => false,
  path = '',
): Promise<number> {
  const [source, target] = [join(from, path), join(to, path)];
  const found = await lstat(source).catch(unlessGone);
  if (found === undefined || (!found.isDirectory() && !found.isFile())) return 0;
  let copied = 0;
  if (found.isDirectory()) {
    await mkdir(target, { recursive: true });
    for (const name of (await readdir(source).catch(unlessGone)) ?? []) {
      const inner = join(path, name);
      if (!skip(inner)) copied += await copyLive(from, to, skip, inner);
    }
  } else {
    if ((await copyFile(source, target).then(() => true, unlessGone)) === undefined) return 0;
    copied = 1;
  }
  // PostgreSQL runs as another user if we are root; everybody else copies only files of their own.
  if (process.getuid?.() === 0) await lchown(target, found.uid, found.gid);
  await chmod(target, found.mode & 0o777);
  return copied;
}

function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
