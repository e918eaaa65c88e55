import type { KeyRing } from '../../lib/key-ring.ts';
import type { BlobStore } from './blob-store.ts';
import { encryptedBlobStore } from './encrypted-blob-store.ts';
import { openSealedStorage } from './open-sealed-storage.ts';
import type { S3Login } from './s3-bucket.ts';

/** Opens the store at the address in BLOB_STORE (or another `variable`): `file:///a/folder` or `s3://bucket/prefix`. */
export async function openBlobStore(
  address: string,
  keyRing: KeyRing,
  variable = 'BLOB_STORE',
  login?: S3Login,
): Promise<BlobStore> {
  return encryptedBlobStore(await openSealedStorage(address, variable, login), keyRing);
}
