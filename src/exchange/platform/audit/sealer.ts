import type { Logger } from '../../../lib/logger.ts';
import { type Store, type SystemTx, withinAccount } from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { insertAuditEntry } from './audit-store.ts';
import { type AuditChain, type AuditHead, CHAIN_START, type SignedAuditHead } from './chain.ts';
import { accountsToSeal, hasSealedDetail, lockHead, macAt, unsealedRows, writeSeals } from './chain-store.ts';
import type { AuditHeads } from './heads.ts';
import { HEAD_MISSED, LOSS_ACCEPTED, lossSince, writeLoss } from './losses.ts';

export interface SealerDeps {
  store: Store;
  chain: AuditChain;
  /** None: the ends of the chains are in the log only. */
  heads?: AuditHeads;
  logger: Logger;
}

const ROWS_PER_TRANSACTION = 1_000;
const ACCOUNTS_AT_ONCE = 500;

/**
 * Chains what was added to the audit since the last time: nobody who writes an entry waits for another, and within the
 * interval of `reconcile` each is in its place. Whoever seals an account's entries holds its head, so two at once wait
 * for each other.
 */
export function auditSealing(deps: SealerDeps): Recovery {
  return {
    name: 'audit entries',
    async takeUp() {
      const accountIds = await deps.store.asSystem((tx) => accountsToSeal(tx, ACCOUNTS_AT_ONCE));
      let sealed = 0;
      for (const accountId of accountIds) sealed += await sealAccount(deps, accountId);
      return sealed;
    },
  };
}

/** Answers how many entries were sealed. */
async function sealAccount(deps: SealerDeps, accountId: string): Promise<number> {
  await deps.store.asSystem((tx) => noteMissedHead(deps, tx, accountId));
  const count = await sealEntries(deps, accountId);
  await deps.store.asSystem((tx) => keepHead(deps, tx, accountId));
  return count;
}

/** Seals what is not sealed yet, and keeps no head. Answers how many entries that were. */
export async function sealEntries(
  { store, chain }: Pick<SealerDeps, 'store' | 'chain'>,
  accountId: string,
): Promise<number> {
  let count = 0;
  for (;;) {
    const rows = await store.asSystem((tx) => sealSome(chain, tx, accountId));
    count += rows;
    if (rows < ROWS_PER_TRANSACTION) return count;
  }
}

async function sealSome(chain: AuditChain, tx: SystemTx, accountId: string, only?: string): Promise<number> {
  let { position, mac } = await lockHead(tx, accountId);
  const rows = await unsealedRows(tx, accountId, ROWS_PER_TRANSACTION, only);
  const seals = rows.map((row) => {
    position += 1;
    mac = chain.macOf(mac, row, position);
    return { id: row.id, position, mac };
  });
  await writeSeals(tx, accountId, seals);
  return rows.length;
}

/**
 * Entries that the head kept elsewhere knows of are gone, by a restore or by somebody's hand: before anything else is
 * sealed, the chain itself says so, once, where they had begun. What comes behind is protected as ever.
 */
async function noteMissedHead({ chain, heads }: SealerDeps, tx: SystemTx, accountId: string): Promise<void> {
  const { position, mac } = await lockHead(tx, accountId);
  const kept = await heads?.read(accountId);
  // A chain that begins has its head elsewhere before its first entry: one that is missing later was taken away.
  if (kept === undefined && position === 0) await heads?.write(chain.sign(headAt(accountId, position, mac)));
  if (kept === undefined || !chain.isSigned(kept) || (await leadsOn(tx, kept, position))) return;
  if (await hasSealedDetail(tx, accountId, [HEAD_MISSED, LOSS_ACCEPTED], kept.mac)) return;
  const details = writeLoss(lossSince(position + 1, kept));
  await withinAccount(tx, accountId, (own) =>
    insertAuditEntry(own, { actor: 'sealer', operation: HEAD_MISSED, outcome: 'noticed', details }),
  );
  await sealSome(chain, tx, accountId, details);
}

/**
 * Of what is committed, and while the head is held, so that a later one is never replaced by an earlier. A kept head that
 * is missing, is not ours, or from which the chain does not lead on is what shows that something was done to it: only an
 * operator replaces it (accept-loss.ts).
 */
async function keepHead(deps: SealerDeps, tx: SystemTx, accountId: string): Promise<void> {
  const { chain, heads, logger } = deps;
  const { position } = await lockHead(tx, accountId);
  const kept = await heads?.read(accountId);
  if (heads !== undefined && kept === undefined)
    return logger.error(
      { accountId, position },
      'the head kept elsewhere is missing; look with: npm run admin -- audit verify',
    );
  if (kept !== undefined && !(chain.isSigned(kept) && (await leadsOn(tx, kept, position))))
    return logger.error(
      { accountId, keptPosition: kept.position, position },
      'the audit does not continue the head kept elsewhere; look with: npm run admin -- audit verify',
    );
  const signed = await writeHead(deps, tx, accountId);
  deps.logger.info({ auditHead: signed }, 'audit sealed');
}

/** Keeps the chain's end, as it is committed, whatever was kept before. */
export async function writeHead(
  { chain, heads }: Pick<SealerDeps, 'chain' | 'heads'>,
  tx: SystemTx,
  accountId: string,
): Promise<SignedAuditHead> {
  const { position, mac } = await lockHead(tx, accountId);
  const signed = chain.sign(headAt(accountId, position, mac));
  await heads?.write(signed);
  return signed;
}

const headAt = (accountId: string, position: number, mac: Buffer): AuditHead => ({
  accountId,
  position,
  mac: mac.toString('hex'),
  sealedAt: new Date().toISOString(),
});

async function leadsOn(tx: SystemTx, kept: SignedAuditHead, position: number): Promise<boolean> {
  if (kept.position === 0) return kept.mac === CHAIN_START.toString('hex');
  if (kept.position > position) return false;
  return (await macAt(tx, kept.accountId, kept.position))?.toString('hex') === kept.mac;
}
