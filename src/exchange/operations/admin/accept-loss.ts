import { findAccount } from '../../access/accounts/account-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import type { AuditHeads } from '../../platform/audit/heads.ts';
import {
  HEAD_RENEWED,
  LOSS_ACCEPTED,
  type Loss,
  writeLoss,
  writeRenewal,
} from '../../platform/audit/losses.ts';
import { sealEntries, writeHead } from '../../platform/audit/sealer.ts';
import { type ChainFault, type VerifyDeps, verifyChain } from '../../platform/audit/verify.ts';

export type Acceptance =
  | { kind: 'accepted'; loss: Loss }
  /** No entry is known to be lost, but the external head was missing. `position`: the last entry of the chain. */
  | { kind: 'head renewed'; position: number }
  /** The chain is intact; there is nothing to accept. */
  | { kind: 'whole' }
  /** A restore from a backup cannot have caused this fault, so it cannot be accepted. */
  | { kind: 'refused'; fault: ChainFault };

/**
 * Records an operator's statement that entries at the end of a chain were lost, for example by a restore from a backup.
 * Adds an entry to the chain with the lost positions, the operator and the reason, and renews the external head;
 * `verifyChain` reports the loss from then on. If only the external head is missing, it is renewed in the same way. If the
 * restore removed the account itself, there is no chain; the statement is then stored in the external head.
 */
export async function acceptLoss(
  deps: VerifyDeps & { heads: AuditHeads },
  accountId: string,
  statement: { by: string; reason: string },
): Promise<Acceptance> {
  const { store, chain, heads } = deps;
  const { fault, verified } = await verifyChain(deps, accountId);
  if (fault === undefined) return { kind: 'whole' };
  if (fault.what === 'head missing') {
    await addToChain(deps, accountId, HEAD_RENEWED, writeRenewal({ position: verified, ...statement }));
    return { kind: 'head renewed', position: verified };
  }
  const { loss } = fault;
  if (loss === undefined) return { kind: 'refused', fault };
  const account = await store.asSystem((tx) => findAccount(tx, accountId));
  const kept = await heads.read(accountId);
  if (account === undefined) {
    // Entries without an account mean that the account was removed by other means than a restore.
    if (kept === undefined || verified > 0) return { kind: 'refused', fault };
    const { signature: _, ...head } = kept;
    await heads.write(chain.sign({ ...head, gone: { at: new Date().toISOString(), ...statement } }));
    return { kind: 'accepted', loss };
  }
  await addToChain(deps, accountId, LOSS_ACCEPTED, writeLoss({ ...loss, ...statement }));
  return { kind: 'accepted', loss };
}

/** Adds the operator's statement to the chain as a sealed entry, and renews the external head. */
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
