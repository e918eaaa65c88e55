import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../config.ts';

/** PEM files as a Kubernetes secret of type `kubernetes.io/tls` has them. */
export interface TlsFiles {
  cert: string;
  key: string;
  clientAuthorities?: string;
}

/**
 * Reads tls.crt and tls.key, and ca.crt if there is one.
 *
 * @param variable the environment variable that names the folder
 * @throws {ConfigError}
 */
export async function readTlsFolder(
  folder: string,
  variable: string,
): Promise<TlsFiles> {
  const names = ['tls.crt', 'tls.key', 'ca.crt'];
  const [cert, key, clientAuthorities] = await Promise.all(
    names.map((name) =>
      readFile(join(folder, name), 'utf8').catch(() => undefined),
    ),
  );
  if (cert !== undefined && key !== undefined)
    return { cert, key, clientAuthorities };
  throw new ConfigError(
    `${variable}: tls.crt and tls.key cannot both be read in ${folder}`,
  );
}
