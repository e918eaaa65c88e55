import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../../config.ts';
import type { S3Login } from '../../../shared/blobs/s3-login.ts';
import { type AuditHeads, parseHead } from './heads.ts';

/**
 * Opens the storage that AUDIT_HEADS names, a folder or an S3 bucket. Throws
 * ConfigError for any other kind of URL.
 */
export async function openAuditHeads(
  address: string,
  login?: S3Login,
): Promise<AuditHeads> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Other processes do not load the SDK.
  if (url?.protocol === 's3:' && url.host !== '')
    return (await import('./s3-heads.ts')).openS3Heads(url, login);
  if (url?.protocol === 'file:' && url.host === '')
    return openFileHeads(fileURLToPath(url));
  throw new ConfigError(
    'AUDIT_HEADS: expected file:///a/folder or s3://bucket/prefix',
  );
}

/** One file for each account. */
async function openFileHeads(folder: string): Promise<AuditHeads> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pathOf = (accountId: string) => join(folder, `${accountId}.json`);
  return {
    async read(accountId) {
      const text = await readFile(pathOf(accountId), 'utf8').catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'ENOENT') return undefined;
          throw error;
        },
      );
      return text === undefined ? undefined : parseHead(text, accountId);
    },
    async write(head) {
      const incoming = `${pathOf(head.accountId)}.${randomUUID()}.part`;
      const file = await open(incoming, 'w', 0o600);
      try {
        await file.writeFile(`${JSON.stringify(head)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(incoming, pathOf(head.accountId));
    },
    accounts: async () =>
      (await readdir(folder)).flatMap(
        (name) => /^([0-9a-f-]{36})\.json$/.exec(name)?.[1] ?? [],
      ),
  };
}
