import { CHAIN_START, type SignedAuditHead } from './chain.ts';
import { countUnsealed, findHead, sealedRows } from './chain-store.ts';
import {
  type AcceptedLoss,
  type Loss,
  LossReader,
  lossSince,
  type RenewedHead,
} from './losses.ts';
import type { SealerDeps } from './sealer.ts';

/** The first fault of a chain; all entries before it are unchanged. */
export interface ChainFault {
  /**
   * Position of the fault. `cut-off`: the first missing position. `head
   * missing`: the position after the last entry.
   */
  position: number;
  what: 'changed' | 'removed' | 'cut-off' | 'head not ours' | 'head missing';
  /** Id of the changed entry. */
  entryId?: number;
  /**
   * With `cut-off`, if an external head proves it: the loss that an operator
   * may accept.
   */
  loss?: Loss;
}

export interface ChainReport {
  accountId: string;
  /** Number of entries, from the first on, that are unchanged. */
  verified: number;
  /** Number of entries not sealed yet. */
  unsealed: number;
  oldestUnsealedAt: Date | null;
  /** Position of the external head; null if there is none. */
  headPosition: number | null;
  /** Losses that an operator has accepted. */
  losses: AcceptedLoss[];
  /** Renewals of the external head by an operator. */
  renewedHeads: RenewedHead[];
  fault?: ChainFault;
}

export type VerifyDeps = Omit<SealerDeps, 'logger'>;

const PAGE = 5_000;

/**
 * Verifies an account's whole chain page by page, and compares its end with the
 * external head.
 */
export async function verifyChain(
  { store, chain, heads }: VerifyDeps,
  accountId: string,
): Promise<ChainReport> {
  // Read before the entries: entries sealed in the meantime then only follow
  // the head.
  const kept = await heads?.read(accountId);
  const stored = await store.asSystem((tx) => findHead(tx, accountId));
  const { count, oldestAt } = await store.asSystem((tx) =>
    countUnsealed(tx, accountId),
  );
  const read: { position: number; mac: Buffer } = {
    position: 0,
    mac: CHAIN_START,
  };
  const lossReader = new LossReader();
  const report = (fault?: ChainFault): ChainReport => ({
    accountId,
    verified: read.position,
    unsealed: count,
    oldestUnsealedAt: oldestAt,
    headPosition: kept?.position ?? null,
    losses: lossReader.accepted,
    renewedHeads: lossReader.renewed,
    ...(fault && { fault }),
  });
  if (kept !== undefined && !chain.isSigned(kept))
    return report({ position: kept.position, what: 'head not ours' });
  let headMismatch: ChainFault | undefined;
  for (;;) {
    const page = { after: read.position, limit: PAGE };
    const rows = await store.asSystem((tx) => sealedRows(tx, accountId, page));
    for (const row of rows) {
      const position = read.position + 1;
      if (row.position !== position)
        return report({ position, what: 'removed' });
      if (!chain.holds(read.mac, row) || row.mac === null)
        return report({ position, what: 'changed', entryId: row.id });
      if (contradicts(kept, position, row.mac))
        headMismatch = { position, what: 'changed', entryId: row.id };
      lossReader.read(row);
      read.position = position;
      read.mac = row.mac;
    }
    if (rows.length < PAGE) break;
  }
  const next = read.position + 1;
  // The database's own head is ahead of the entries, which a restore cannot
  // cause.
  if ((stored?.position ?? 0) >= next)
    return report({ position: next, what: 'cut-off' });
  const loss = lossReader.open;
  if (loss !== undefined)
    return report({ position: loss.from, what: 'cut-off', loss });
  if (headMismatch !== undefined) return report(headMismatch);
  // Read again: a chain that has just begun got its external head before its
  // first entry was sealed.
  if (
    heads !== undefined &&
    kept === undefined &&
    next > 1 &&
    (await heads.read(accountId)) === undefined
  )
    return report({ position: next, what: 'head missing' });
  if (kept === undefined || kept.position < next) return report();
  if (next === 1 && kept.gone !== undefined) {
    lossReader.accepted.push({ ...lossSince(1, kept), ...kept.gone });
    return report();
  }
  const keptUntil = lossReader.lastAt;
  return report({
    position: next,
    what: 'cut-off',
    loss: { ...lossSince(next, kept), keptUntil },
  });
}

/**
 * Whether the external head is at this position but has another MAC: it was
 * made from another chain.
 */
const contradicts = (
  kept: SignedAuditHead | undefined,
  position: number,
  mac: Buffer,
): boolean => kept?.position === position && kept.mac !== mac.toString('hex');
