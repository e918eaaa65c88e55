import type { Logger } from '../../../lib/logger.ts';
import {
  type Store,
  type SystemTx,
  withinAccount,
} from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { insertAuditEntry } from './audit-store.ts';
import {
  type AuditChain,
  type AuditHead,
  CHAIN_START,
  type SignedAuditHead,
} from './chain.ts';
import {
  accountsToSeal,
  hasSealedDetail,
  lockHead,
  macAt,
  unsealedRows,
  writeSeals,
} from './chain-store.ts';
import type { AuditHeads } from './heads.ts';
import { HEAD_MISSED, LOSS_ACCEPTED, lossSince, writeLoss } from './losses.ts';

export interface SealerDeps {
  store: Store;
  chain: AuditChain;
  /** Without it, the heads of the chains are written to the log only. */
  heads?: AuditHeads;
  logger: Logger;
}

const ROWS_PER_TRANSACTION = 1_000;
const ACCOUNTS_AT_ONCE = 500;

/**
 * Seals the audit entries added since the last round. Sealing is separate from
 * writing, so that concurrent writers do not wait for each other; each entry is
 * sealed within the interval of `reconcile`. The account's head is locked while
 * its entries are sealed, so concurrent sealers wait for each other.
 */
export function auditSealing(deps: SealerDeps): Recovery {
  return {
    name: 'audit entries',
    async takeUp({ signal }) {
      const accountIds = await deps.store.asSystem((tx) =>
        accountsToSeal(tx, ACCOUNTS_AT_ONCE),
      );
      const failures: unknown[] = [];
      let sealed = 0;
      for (const accountId of accountIds) {
        if (signal.aborted) break;
        try {
          sealed += await sealAccount(deps, accountId);
        } catch (error) {
          failures.push(error);
        }
      }
      const isBehind = sealed > 0 && accountIds.length === ACCOUNTS_AT_ONCE;
      return {
        found: sealed + failures.length,
        healed: sealed,
        failures,
        isBehind,
      };
    },
  };
}

/** Returns the number of entries sealed. */
async function sealAccount(
  deps: SealerDeps,
  accountId: string,
): Promise<number> {
  await deps.store.asSystem((tx) => recordMissedHead(deps, tx, accountId));
  const count = await sealEntries(deps, accountId);
  await deps.store.asSystem((tx) => updateHead(deps, tx, accountId));
  return count;
}

/**
 * Seals all unsealed entries without updating the external head. Returns their
 * number.
 */
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

async function sealSome(
  chain: AuditChain,
  tx: SystemTx,
  accountId: string,
  only?: string,
): Promise<number> {
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
 * If the chain does not continue the external head, entries were lost, by a
 * restore or by manipulation. Records this once as an entry of the chain, at
 * the position of the first lost entry and before anything else is sealed.
 */
async function recordMissedHead(
  { chain, heads }: SealerDeps,
  tx: SystemTx,
  accountId: string,
): Promise<void> {
  const { position, mac } = await lockHead(tx, accountId);
  const kept = await heads?.read(accountId);
  // A new chain gets its external head before its first entry, so a head that
  // is missing later was removed.
  if (kept === undefined && position === 0)
    await heads?.write(chain.sign(headAt(accountId, position, mac)));
  if (
    kept === undefined ||
    !chain.isSigned(kept) ||
    (await continuesHead(tx, kept, position))
  )
    return;
  if (
    await hasSealedDetail(tx, accountId, [HEAD_MISSED, LOSS_ACCEPTED], kept.mac)
  )
    return;
  const details = writeLoss(lossSince(position + 1, kept));
  await withinAccount(tx, accountId, (own) =>
    insertAuditEntry(own, {
      actor: 'sealer',
      operation: HEAD_MISSED,
      outcome: 'noticed',
      details,
    }),
  );
  await sealSome(chain, tx, accountId, details);
}

/**
 * Writes the external head from committed entries, while the head is locked, so
 * that an older head never replaces a newer one. An external head that is
 * missing, has an invalid signature, or is not continued by the chain is
 * evidence of manipulation: it is logged and left as it is; only an operator
 * can replace it (operations/admin/audit.ts).
 */
async function updateHead(
  deps: SealerDeps,
  tx: SystemTx,
  accountId: string,
): Promise<void> {
  const { chain, heads, logger } = deps;
  const { position } = await lockHead(tx, accountId);
  const kept = await heads?.read(accountId);
  if (heads !== undefined && kept === undefined)
    return logger.error(
      { accountId, position },
      'the external audit head is missing; check with: npm run admin -- audit verify',
    );
  if (
    kept !== undefined &&
    !(chain.isSigned(kept) && (await continuesHead(tx, kept, position)))
  )
    return logger.error(
      { accountId, keptPosition: kept.position, position },
      'the audit chain does not continue the external head; check with: npm run admin -- audit verify',
    );
  const signed = await writeHead(deps, tx, accountId);
  deps.logger.info({ auditHead: signed }, 'audit sealed');
}

/**
 * Signs the committed head of the chain and writes it to the external storage,
 * whatever is stored there.
 */
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

const headAt = (
  accountId: string,
  position: number,
  mac: Buffer,
): AuditHead => ({
  accountId,
  position,
  mac: mac.toString('hex'),
  sealedAt: new Date().toISOString(),
});

async function continuesHead(
  tx: SystemTx,
  kept: SignedAuditHead,
  position: number,
): Promise<boolean> {
  if (kept.position === 0) return kept.mac === CHAIN_START.toString('hex');
  if (kept.position > position) return false;
  return (
    (await macAt(tx, kept.accountId, kept.position))?.toString('hex') ===
    kept.mac
  );
}
