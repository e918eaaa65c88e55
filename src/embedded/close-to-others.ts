import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Of the group and of all others. */
const OTHERS = 0o077;
/** A folder where everybody writes, such as /tmp, is not ours to close. */
const STICKY = 0o1000;
/** Deep enough for the single files we write; a closed folder hid what lies deeper. */
const SHALLOW = 2;

/** What the stack keeps; a data folder chosen by hand may hold other people's files too. */
const OURS =
  /^(postgres|temporal|blobs|simulator|logs|run|audit-heads|orchestrator-files|stack\.lock|.+\.json)$/;

/**
 * Takes the rights of everybody but the owner from the data folder and from what the stack keeps in it. A folder that
 * was open is gone through to the bottom. `passage`: another user's PostgreSQL must pass through the folder.
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
  // A link leads out of the folder; a file of PostgreSQL's may be another user's, which keeps it closed itself.
  if (found === undefined || found.isSymbolicLink()) return;
  if ((found.mode & OTHERS) !== 0) await chmod(path, found.mode & 0o700).catch(unlessForeign(found.uid));
  if (!found.isDirectory() || levels === 1) return;
  const names = await readdir(path).catch(() => []);
  for (const name of names) await tighten(join(path, name), levels - 1);
}

/** Throws only for what is our own: files may also be gone by now. */
const unlessForeign = (uid: number) => (error: NodeJS.ErrnoException) => {
  if (uid === process.getuid?.() && error.code !== 'ENOENT') throw error;
};
