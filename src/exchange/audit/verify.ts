import { countUnsealed, findHead, sealedRows } from '../store/audit-chain.ts';
import type { Store } from '../store/database.ts';
import { type AuditChain, CHAIN_START, type SignedAuditHead } from './chain.ts';
import type { AuditHeads } from './heads.ts';

/** The first thing that is wrong with a chain; everything before it is as it was written. */
export interface ChainFault {
  /** Where it is; with `cut-off` the first position that is missing at the end. */
  position: number;
  what: 'changed' | 'removed' | 'cut-off' | 'head not ours';
  /** Of the row that was changed. */
  entryId?: number;
}

export interface ChainReport {
  accountId: string;
  /** Entries that are as they were written, from the first on. */
  verified: number;
  /** Entries that were written since the last sealing. */
  unsealed: number;
  oldestUnsealedAt: Date | null;
  /** How far the head that is kept elsewhere vouches for the end; null when there is none. */
  headPosition: number | null;
  fault?: ChainFault;
}

const PAGE = 5_000;

/** Reads an account's whole chain, in bounded memory, and compares its end with the head kept elsewhere. */
export async function verifyChain(
  deps: { store: Store; chain: AuditChain; heads?: AuditHeads },
  accountId: string,
): Promise<ChainReport> {
  const { store, chain, heads } = deps;
  // Before the rows: what is sealed meanwhile is then only more than the head says.
  const kept = await heads?.read(accountId);
  const stored = await store.asSystem((tx) => findHead(tx, accountId));
  const { count, oldestAt } = await store.asSystem((tx) => countUnsealed(tx, accountId));
  const read: { position: number; mac: Buffer } = { position: 0, mac: CHAIN_START };
  const report = (fault?: ChainFault): ChainReport => ({
    accountId,
    verified: read.position,
    unsealed: count,
    oldestUnsealedAt: oldestAt,
    headPosition: kept?.position ?? null,
    ...(fault && { fault }),
  });
  if (kept !== undefined && !chain.isSigned(kept))
    return report({ position: kept.position, what: 'head not ours' });
  for (;;) {
    const page = { after: read.position, limit: PAGE };
    const rows = await store.asSystem((tx) => sealedRows(tx, accountId, page));
    for (const row of rows) {
      const position = read.position + 1;
      if (row.position !== position) return report({ position, what: 'removed' });
      if (!chain.holds(read.mac, row) || row.mac === null)
        return report({ position, what: 'changed', entryId: row.id });
      if (isOther(kept, position, row.mac)) return report({ position, what: 'changed', entryId: row.id });
      read.position = position;
      read.mac = row.mac;
    }
    if (rows.length < PAGE) break;
  }
  const known = Math.max(stored?.position ?? 0, kept?.position ?? 0);
  if (known > read.position) return report({ position: read.position + 1, what: 'cut-off' });
  return report();
}

/** The chain is sound in itself, but not the one that the head was made of. */
const isOther = (kept: SignedAuditHead | undefined, position: number, mac: Buffer): boolean =>
  kept?.position === position && kept.mac !== mac.toString('hex');
