import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Permission bits of the group and of all other users. */
const OTHERS = 0o077;
/** Marks a folder that all users write to, such as /tmp; its permissions are not changed. */
const STICKY = 0o1000;
/** Deep enough for the single files that we write; deeper files were protected by a closed folder above them. */
const SHALLOW = 2;

/** The stack's own files; a data folder that the user chose may contain other files too. */
const OURS =
  /^(postgres|temporal|blobs|simulator|logs|run|audit-heads|orchestrator-files|stack\.lock|.+\.json)$/;

/**
 * Removes the permissions of other users from the data folder and from the stack's files in it. If the folder was open,
 * all levels below it are changed. `passage`: PostgreSQL runs as another user, who must be able to traverse the folder.
 */
export async function closeToOthers(folder: string, passage: boolean): Promise<void> {
  const { mode } = await lstat(folder);
  const allowed = passage ? 0o711 : 0o700;
  if ((mode & OTHERS) !== 0 && (mode & STICKY) === 0) await chmod(folder, mode & allowed);
  const levels = (mode & OTHERS) === 0 ? SHALLOW : Number.POSITIVE_INFINITY;
  for (const name of await readdir(folder)) if (OURS.test(name)) await tighten(join(folder, name), levels);
}

async function tighten(path: string, levels: number): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  // A symbolic link may lead out of the folder. Files of PostgreSQL may belong to another user, who protects them.
  if (found === undefined || found.isSymbolicLink()) return;
  if ((found.mode & OTHERS) !== 0) await chmod(path, found.mode & 0o700).catch(unlessForeign(found.uid));
  if (!found.isDirectory() || levels === 1) return;
  const names = await readdir(path).catch(() => []);
  for (const name of names) await tighten(join(path, name), levels - 1);
}

/** Rethrows errors only for our own files, and not for files that no longer exist. */
const unlessForeign = (uid: number) => (error: NodeJS.ErrnoException) => {
  if (uid === process.getuid?.() && error.code !== 'ENOENT') throw error;
};
