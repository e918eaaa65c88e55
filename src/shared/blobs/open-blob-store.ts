import type { KeyRing } from '../../lib/key-ring.ts';
import type { BlobStore } from './blob-store.ts';
import { encryptedBlobStore } from './encrypted-blob-store.ts';
import { openSealedStorage } from './open-sealed-storage.ts';

/** Opens the store at the address in BLOB_STORE (or another `variable`): `file:///a/folder` or `s3://bucket/prefix`. */
export async function openBlobStore(
  address: string,
  keyRing: KeyRing,
  variable = 'BLOB_STORE',
): Promise<BlobStore> {
  return encryptedBlobStore(await openSealedStorage(address, variable), keyRing);
}
