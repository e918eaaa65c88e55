import type { Logger } from '../../lib/logger.ts';
import type { LeftOverWork } from '../left-over-work.ts';
import { accountsToSeal, lockHead, macAt, unsealedRows, writeSeals } from '../store/audit-chain.ts';
import type { Store, SystemTx } from '../store/database.ts';
import type { AuditChain, SignedAuditHead } from './chain.ts';
import type { AuditHeads } from './heads.ts';

interface SealerDeps {
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
export function auditSealing(deps: SealerDeps): LeftOverWork {
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
  let count = 0;
  for (;;) {
    const rows = await deps.store.asSystem((tx) => sealSome(deps.chain, tx, accountId));
    count += rows;
    if (rows === ROWS_PER_TRANSACTION) continue;
    await deps.store.asSystem((tx) => keepHead(deps, tx, accountId));
    return count;
  }
}

async function sealSome(chain: AuditChain, tx: SystemTx, accountId: string): Promise<number> {
  let { position, mac } = await lockHead(tx, accountId);
  const rows = await unsealedRows(tx, accountId, ROWS_PER_TRANSACTION);
  const seals = rows.map((row) => {
    position += 1;
    mac = chain.macOf(mac, row, position);
    return { id: row.id, position, mac };
  });
  await writeSeals(tx, accountId, seals);
  return rows.length;
}

/**
 * Of what is committed, and while the head is held, so that a later one is never replaced by an earlier. A kept head that
 * the chain does not lead on from is what shows that something was cut off: it is not replaced at all.
 */
async function keepHead(
  { chain, heads, logger }: SealerDeps,
  tx: SystemTx,
  accountId: string,
): Promise<void> {
  const { position, mac } = await lockHead(tx, accountId);
  const kept = await heads?.read(accountId);
  if (kept !== undefined && !(await leadsOn(tx, kept, position)))
    return logger.error(
      { accountId, keptPosition: kept.position, position },
      'the audit does not continue the head kept elsewhere; look with: npm run admin -- audit verify',
    );
  const head = { accountId, position, mac: mac.toString('hex'), sealedAt: new Date().toISOString() };
  const signed = chain.sign(head);
  await heads?.write(signed);
  logger.info({ auditHead: signed }, 'audit sealed');
}

async function leadsOn(tx: SystemTx, kept: SignedAuditHead, position: number): Promise<boolean> {
  if (kept.position > position) return false;
  return (await macAt(tx, kept.accountId, kept.position))?.toString('hex') === kept.mac;
}
