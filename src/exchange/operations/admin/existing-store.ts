import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AdminError } from './command.ts';

/**
 * The address of a store to copy from. Throws AdminError for a folder that does not exist: a mistyped one must not become an
 * empty store that is copied without a word.
 */
export async function existingStore(address: string): Promise<string> {
  if (address.startsWith('file:///') && !(await isFolder(fileURLToPath(address))))
    throw new AdminError(`--from: there is no folder ${address}`);
  return address;
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
