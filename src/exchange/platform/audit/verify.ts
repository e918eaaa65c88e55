import type { Store } from '../database/database.ts';
import { type AuditChain, CHAIN_START, type SignedAuditHead } from './chain.ts';
import { countUnsealed, findHead, sealedRows } from './chain-store.ts';
import type { AuditHeads } from './heads.ts';
import { type AcceptedLoss, type Loss, LossReader, lossSince, type RenewedHead } from './losses.ts';

/** The first thing that is wrong with a chain; everything before it is as it was written. */
export interface ChainFault {
  /** Where it is; with `cut-off` the first position that is missing, with `head missing` the first that nothing vouches for. */
  position: number;
  what: 'changed' | 'removed' | 'cut-off' | 'head not ours' | 'head missing';
  /** Of the row that was changed. */
  entryId?: number;
  /** With `cut-off`, when a head kept elsewhere tells of it: what an operator may accept. */
  loss?: Loss;
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
  /** What was lost, and accepted as lost by an operator. */
  losses: AcceptedLoss[];
  /** When an operator had the head kept elsewhere begin anew. */
  renewedHeads: RenewedHead[];
  fault?: ChainFault;
}

export interface VerifyDeps {
  store: Store;
  chain: AuditChain;
  heads?: AuditHeads;
}

const PAGE = 5_000;

/** Reads an account's whole chain, in bounded memory, and compares its end with the head kept elsewhere. */
export async function verifyChain(
  { store, chain, heads }: VerifyDeps,
  accountId: string,
): Promise<ChainReport> {
  // Before the rows: what is sealed meanwhile is then only more than the head says.
  const kept = await heads?.read(accountId);
  const stored = await store.asSystem((tx) => findHead(tx, accountId));
  const { count, oldestAt } = await store.asSystem((tx) => countUnsealed(tx, accountId));
  const read: { position: number; mac: Buffer } = { position: 0, mac: CHAIN_START };
  const told = new LossReader();
  const report = (fault?: ChainFault): ChainReport => ({
    accountId,
    verified: read.position,
    unsealed: count,
    oldestUnsealedAt: oldestAt,
    headPosition: kept?.position ?? null,
    losses: told.accepted,
    renewedHeads: told.renewed,
    ...(fault && { fault }),
  });
  if (kept !== undefined && !chain.isSigned(kept))
    return report({ position: kept.position, what: 'head not ours' });
  let misfit: ChainFault | undefined;
  for (;;) {
    const page = { after: read.position, limit: PAGE };
    const rows = await store.asSystem((tx) => sealedRows(tx, accountId, page));
    for (const row of rows) {
      const position = read.position + 1;
      if (row.position !== position) return report({ position, what: 'removed' });
      if (!chain.holds(read.mac, row) || row.mac === null)
        return report({ position, what: 'changed', entryId: row.id });
      if (isOther(kept, position, row.mac)) misfit = { position, what: 'changed', entryId: row.id };
      told.read(row);
      read.position = position;
      read.mac = row.mac;
    }
    if (rows.length < PAGE) break;
  }
  const next = read.position + 1;
  // The database itself knows of more: no restore leaves that behind.
  if ((stored?.position ?? 0) >= next) return report({ position: next, what: 'cut-off' });
  const loss = told.open;
  if (loss !== undefined) return report({ position: loss.from, what: 'cut-off', loss });
  if (misfit !== undefined) return report(misfit);
  // Read again: the head of a chain that has just begun was written before its first entry was sealed.
  if (heads !== undefined && kept === undefined && next > 1 && (await heads.read(accountId)) === undefined)
    return report({ position: next, what: 'head missing' });
  if (kept === undefined || kept.position < next) return report();
  if (next === 1 && kept.gone !== undefined) {
    told.accepted.push({ ...lossSince(1, kept), ...kept.gone });
    return report();
  }
  const keptUntil = told.lastAt;
  return report({ position: next, what: 'cut-off', loss: { ...lossSince(next, kept), keptUntil } });
}

/** The chain is sound in itself, but not the one that the head was made of. */
const isOther = (kept: SignedAuditHead | undefined, position: number, mac: Buffer): boolean =>
  kept?.position === position && kept.mac !== mac.toString('hex');
