import { findAccount } from '../store/accounts.ts';
import { insertAuditEntry } from '../store/audit.ts';
import type { AuditHeads } from './heads.ts';
import { LOSS_ACCEPTED, type Loss, writeLoss } from './losses.ts';
import { sealEntries, writeHead } from './sealer.ts';
import { type ChainFault, type VerifyDeps, verifyChain } from './verify.ts';

export type Acceptance =
  | { kind: 'accepted'; loss: Loss }
  /** There is nothing to accept. */
  | { kind: 'whole' }
  /** What is wrong is nothing that a restore does: it stays wrong. */
  | { kind: 'refused'; fault: ChainFault };

/**
 * An operator says that entries at the end of a chain are lost, as a restore from a backup loses them. The chain itself gets
 * an entry that tells which ones, who says so and why, and the head kept elsewhere begins anew with it; `verifyChain` tells of
 * it ever after. An account that is gone with the restore has no chain: then its kept head says it.
 */
export async function acceptLoss(
  deps: VerifyDeps & { heads: AuditHeads },
  accountId: string,
  said: { by: string; reason: string },
): Promise<Acceptance> {
  const { store, chain, heads } = deps;
  const { fault, verified } = await verifyChain(deps, accountId);
  if (fault === undefined) return { kind: 'whole' };
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
  await store.asAccount(accountId, (tx) =>
    insertAuditEntry(tx, {
      actor: 'admin',
      operation: LOSS_ACCEPTED,
      outcome: 'done',
      details: writeLoss({ ...loss, ...said }),
    }),
  );
  await sealEntries(deps, accountId);
  await store.asSystem((tx) => writeHead(deps, tx, accountId));
  return { kind: 'accepted', loss };
}
