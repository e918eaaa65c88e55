import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../config.ts';
import type { KeyRing } from '../../lib/key-ring.ts';
import type { BlobStore } from './blob-store.ts';
import { openFileBlobStore } from './file-blob-store.ts';

/**
 * Opens the store at the address in BLOB_STORE (or another `variable`): `file:///a/folder`. Throws ConfigError for any other
 * kind of address.
 */
export async function openBlobStore(
  address: string,
  keyRing: KeyRing,
  variable = 'BLOB_STORE',
): Promise<BlobStore> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'file:')
    throw new ConfigError(
      `${variable}: only folders (file:///a/folder) are supported, not ${url?.protocol ?? 'this address'}`,
    );
  if (url.host !== '') throw new ConfigError(`${variable}: a folder has three slashes (file:///a/folder)`);
  return openFileBlobStore(fileURLToPath(url), keyRing);
}
