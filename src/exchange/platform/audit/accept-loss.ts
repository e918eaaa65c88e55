import { findAccount } from '../../accounts/account-store.ts';
import { insertAuditEntry } from './audit-store.ts';
import type { AuditHeads } from './heads.ts';
import { HEAD_ANEW, LOSS_ACCEPTED, type Loss, writeLoss, writeRenewal } from './losses.ts';
import { sealEntries, writeHead } from './sealer.ts';
import { type ChainFault, type VerifyDeps, verifyChain } from './verify.ts';

export type Acceptance =
  | { kind: 'accepted'; loss: Loss }
  /** Nothing is known to be lost, but the head was missing; `position` is that of the last entry that is there. */
  | { kind: 'head renewed'; position: number }
  /** There is nothing to accept. */
  | { kind: 'whole' }
  /** What is wrong is nothing that a restore does: it stays wrong. */
  | { kind: 'refused'; fault: ChainFault };

/**
 * An operator says that entries at the end of a chain are lost, as a restore from a backup loses them. The chain itself gets
 * an entry that tells which ones, who says so and why, and the head kept elsewhere begins anew with it; `verifyChain` tells of
 * it ever after. The same goes for a head that is missing: it begins anew. An account that is gone with the restore has no chain: then its kept head says it.
 */
export async function acceptLoss(
  deps: VerifyDeps & { heads: AuditHeads },
  accountId: string,
  said: { by: string; reason: string },
): Promise<Acceptance> {
  const { store, chain, heads } = deps;
  const { fault, verified } = await verifyChain(deps, accountId);
  if (fault === undefined) return { kind: 'whole' };
  if (fault.what === 'head missing') {
    await addToChain(deps, accountId, HEAD_ANEW, writeRenewal({ position: verified, ...said }));
    return { kind: 'head renewed', position: verified };
  }
  const { loss } = fault;
  if (loss === undefined) return { kind: 'refused', fault };
  const account = await store.asSystem((tx) => findAccount(tx, accountId));
  const kept = await heads.read(accountId);
  if (account === undefined) {
    // Without an account there are no entries, unless somebody took it away and left them.
    if (kept === undefined || verified > 0) return { kind: 'refused', fault };
    const { signature: _, ...head } = kept;
    await heads.write(chain.sign({ ...head, gone: { at: new Date().toISOString(), ...said } }));
    return { kind: 'accepted', loss };
  }
  await addToChain(deps, accountId, LOSS_ACCEPTED, writeLoss({ ...loss, ...said }));
  return { kind: 'accepted', loss };
}

/** The operator's word becomes an entry, and the head kept elsewhere begins anew with it. */
async function addToChain(
  deps: VerifyDeps & { heads: AuditHeads },
  accountId: string,
  operation: string,
  details: string,
): Promise<void> {
  const { store } = deps;
  await store.asAccount(accountId, (tx) =>
    insertAuditEntry(tx, { actor: 'admin', operation, outcome: 'done', details }),
  );
  await sealEntries(deps, accountId);
  await store.asSystem((tx) => writeHead(deps, tx, accountId));
}
