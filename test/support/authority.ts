import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeAuthority, makeCertificate } from './certificates.ts';

export interface Certificate {
  cert: string;
  key: string;
}

/**
 * A certificate authority in a folder of its own; certificates and keys are
 * given as PEM.
 */
export async function createAuthority(name = 'authority') {
  const folder = await mkdtemp(join(tmpdir(), 'authority-'));
  const authority = await makeAuthority(folder, name);
  let count = 0;
  return {
    cert: await readFile(authority.certFile, 'utf8'),
    /**
     * A certificate with these subject alternative names, such as
     * `DNS:localhost` or `URI:https://…`.
     */
    async issue(...names: string[]): Promise<Certificate> {
      const made = await makeCertificate(folder, `issued-${++count}`, {
        authority,
        names,
      });
      return {
        cert: await readFile(made.certFile, 'utf8'),
        key: await readFile(made.keyFile, 'utf8'),
      };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
