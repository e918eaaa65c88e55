import type { KeyRing } from '../../../lib/key-ring.ts';
import type { StoredDirectory } from './directory-store.ts';
import type { DirectoryOrigin } from './read-origin.ts';

/** Encrypts the Authorization header with which a directory is read. */
export const sealOriginSecret = (
  keyRing: KeyRing,
  directory: string,
  secret: string,
): Buffer => keyRing.encrypt(Buffer.from(secret), purposeOf(directory));

/** Where a directory is refreshed from; undefined: from nowhere. */
export const originOf = (
  keyRing: KeyRing,
  { name, origin, secret }: StoredDirectory,
): DirectoryOrigin | undefined =>
  origin === null
    ? undefined
    : {
        address: origin,
        ...(secret === null
          ? {}
          : {
              authorization: keyRing
                .decrypt(secret, purposeOf(name))
                .toString('utf8'),
            }),
      };

const purposeOf = (directory: string): string => `directory/${directory}`;
