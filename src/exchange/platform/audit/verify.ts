import { CHAIN_START, type SignedAuditHead } from './chain.ts';
import {
  type ChainRow,
  countUnsealed,
  findHead,
  sealedRows,
} from './chain-store.ts';
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
  const read: { position: number; mac: Buffer; headMismatch?: ChainFault } = {
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
  /** Verifies the next entry. Returns a fault after which none can be. */
  const readEntry = (row: ChainRow): ChainFault | undefined => {
    const position = read.position + 1;
    if (row.position !== position) return { position, what: 'removed' };
    if (!chain.holds(read.mac, row) || row.mac === null)
      return { position, what: 'changed', entryId: row.id };
    if (contradicts(kept, position, row.mac))
      read.headMismatch = { position, what: 'changed', entryId: row.id };
    lossReader.read(row);
    read.position = position;
    read.mac = row.mac;
    return undefined;
  };
  for (let isLast = false; !isLast; ) {
    const page = { after: read.position, limit: PAGE };
    const rows = await store.asSystem((tx) => sealedRows(tx, accountId, page));
    for (const row of rows) {
      const fault = readEntry(row);
      if (fault !== undefined) return report(fault);
    }
    isLast = rows.length < PAGE;
  }
  return report(await faultAtEnd());

  /**
   * Reads the external head again: a chain that has just begun got it before
   * its first entry was sealed.
   */
  async function isHeadMissing(): Promise<boolean> {
    return heads !== undefined && (await heads.read(accountId)) === undefined;
  }

  /** What is wrong after the last entry that holds. */
  async function faultAtEnd(): Promise<ChainFault | undefined> {
    const next = read.position + 1;
    // The database's own head is ahead of the entries, which a restore cannot
    // cause.
    if ((stored?.position ?? 0) >= next)
      return { position: next, what: 'cut-off' };
    const loss = lossReader.open;
    if (loss !== undefined)
      return { position: loss.from, what: 'cut-off', loss };
    if (read.headMismatch !== undefined) return read.headMismatch;
    if (kept === undefined)
      return next > 1 && (await isHeadMissing())
        ? { position: next, what: 'head missing' }
        : undefined;
    if (kept.position < next) return undefined;
    if (next === 1 && kept.gone !== undefined) {
      lossReader.accepted.push({ ...lossSince(1, kept), ...kept.gone });
      return undefined;
    }
    const keptUntil = lossReader.lastAt;
    return {
      position: next,
      what: 'cut-off',
      loss: { ...lossSince(next, kept), keptUntil },
    };
  }
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
