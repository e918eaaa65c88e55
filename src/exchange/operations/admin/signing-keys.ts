import { listAccounts } from '../../access/accounts/account-store.ts';
import { insertAuditEntriesIn } from '../../platform/audit/audit-store.ts';
import { withinAccount } from '../../platform/database/database.ts';
import { listPublishedKeys } from '../../sources/connections/signing-key-store.ts';
import { rotateSigningKeys } from '../../sources/connections/signing-keys.ts';
import { ADMIN_ACTOR, type AdminResult, type AdminTarget, shortTime } from './command.ts';

/** `signing-keys list`: the keys in our JWKS, and from when until when they sign. */
export async function listSigningKeysCommand({ store }: Pick<AdminTarget, 'store'>): Promise<AdminResult> {
  const keys = await store.asSystem(listPublishedKeys);
  return {
    document: { keys: keys.map(({ publicJwk: _, ...key }) => key) },
    table: {
      head: ['kid', 'algorithm', 'signs from', 'published until'],
      rows: keys.map(({ kid, algorithm, signsFrom, publishedUntil }) => [
        kid,
        algorithm,
        shortTime(signsFrom),
        shortTime(publishedUntil),
      ]),
    },
  };
}

/**
 * `signing-keys rotate`: new keys, which sign after the overlap, or at once. They are those of the installation, so the audit of
 * every account has an entry per new key.
 */
export async function rotateSigningKeysCommand(
  { store, openKeyRing }: AdminTarget,
  atOnce: boolean,
): Promise<AdminResult> {
  const keyRing = await openKeyRing();
  await store.asSystem(async (tx) => {
    const operation = atOnce ? 'rotateSigningKeyAtOnce' : 'rotateSigningKey';
    const kids = await rotateSigningKeys(tx, keyRing, atOnce);
    const entries = kids.map((kid) => ({ actor: ADMIN_ACTOR, operation, targetId: kid, outcome: 'done' }));
    for (const { id } of await listAccounts(tx))
      await withinAccount(tx, id, (own) => insertAuditEntriesIn(own, entries));
  });
  const { document, table } = await listSigningKeysCommand({ store });
  return { document, table };
}
