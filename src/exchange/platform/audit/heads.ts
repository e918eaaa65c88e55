import { z } from 'zod';
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

/** An unreadable head becomes one with an invalid signature, so that verification reports it. */
export function parseHead(text: string, accountId: string): SignedAuditHead {
  try {
    return headSchema.parse(JSON.parse(text));
  } catch {
    return unreadableHead(accountId);
  }
}

export const unreadableHead = (accountId: string): SignedAuditHead => ({
  ...{ accountId, position: 0, mac: '', sealedAt: '', signature: '' },
});
