import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { ConfigError } from '../../../config.ts';
import type { SignedAuditHead } from './chain.ts';

/**
 * Storage of the chain heads outside the database (external heads), so that entries removed from the end of a chain are
 * noticed. It should not be writable with the credentials that can write the database.
 */
export interface AuditHeads {
  read(accountId: string): Promise<SignedAuditHead | undefined>;
  write(head: SignedAuditHead): Promise<void>;
  /** Ids of the accounts that have an external head. */
  accounts(): Promise<string[]>;
}

const headSchema = z.object({
  accountId: z.uuid(),
  position: z.number().int(),
  mac: z.string(),
  sealedAt: z.string(),
  gone: z.object({ at: z.string(), by: z.string(), reason: z.string() }).optional(),
  signature: z.string(),
});

/** Opens the storage that AUDIT_HEADS names, `file:///a/folder`. Throws ConfigError for any other kind of URL. */
export async function openAuditHeads(address: string): Promise<AuditHeads> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'file:' || url.host !== '')
    throw new ConfigError('AUDIT_HEADS: expected the URL of a folder, such as file:///a/folder');
  const folder = fileURLToPath(url);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pathOf = (accountId: string) => join(folder, `${accountId}.json`);
  return {
    async read(accountId) {
      const text = await readFile(pathOf(accountId), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
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
      (await readdir(folder)).flatMap((name) => /^([0-9a-f-]{36})\.json$/.exec(name)?.[1] ?? []),
  };
}

/** An unreadable head becomes one with an invalid signature, so that verification reports it. */
function parseHead(text: string, accountId: string): SignedAuditHead {
  try {
    return headSchema.parse(JSON.parse(text));
  } catch {
    return { accountId, position: 0, mac: '', sealedAt: '', signature: '' };
  }
}
