import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../config.ts';
import type { KeyRing } from '../../lib/key-ring.ts';
import type { BlobStore } from './blob-store.ts';
import {
  encryptedBlobStore,
  type SealedStorage,
} from './encrypted-blob-store.ts';
import { openFolder } from './file-blob-store.ts';
import type { S3Login } from './s3-login.ts';

/**
 * Opens the folder or bucket at an address. Throws ConfigError for any other
 * kind of address.
 */
export async function openSealedStorage(
  address: string,
  variable: string,
  login?: S3Login,
): Promise<SealedStorage> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (
    url?.searchParams.has('compress') === true &&
    url.searchParams.get('compress') !== 'no'
  )
    throw new ConfigError(
      `${variable}: expected compress=no, or nothing of the kind`,
    );
  if (url?.protocol === 's3:' && url.host !== '') {
    // Loaded only when needed: the AWS SDK takes time and memory that processes
    // on files need not pay.
    const [{ openS3Bucket }, { s3Storage }] = await Promise.all([
      import('./s3-bucket.ts'),
      import('./s3-storage.ts'),
    ]);
    return s3Storage(await openS3Bucket(url, variable, login));
  }
  if (url?.protocol !== 'file:')
    throw new ConfigError(
      `${variable}: expected file:///a/folder or s3://bucket/prefix, not ${url?.protocol ?? 'this address'}`,
    );
  if (url.host !== '')
    throw new ConfigError(
      `${variable}: a folder has three slashes (file:///a/folder)`,
    );
  return openFolder(fileURLToPath(url));
}

/**
 * Opens the store at the address in BLOB_STORE (or another `variable`):
 * `file:///a/folder` or `s3://bucket/prefix`. With `?compress=no`, new blobs
 * are written as 0.1.0 can read them.
 */
export async function openBlobStore(
  address: string,
  keyRing: KeyRing,
  variable = 'BLOB_STORE',
  login?: S3Login,
): Promise<BlobStore> {
  const storage = await openSealedStorage(address, variable, login);
  return encryptedBlobStore(storage, keyRing, {
    compresses: new URL(address).searchParams.get('compress') !== 'no',
  });
}
