import { sql } from 'kysely';
import type { SystemTx } from '../../platform/database/database.ts';

export interface StoredToken {
  sealed: Buffer | null;
  isDue: boolean;
  isEnded: boolean;
  renewAt: Date | null;
  endsAt: Date | null;
  missingScopes: string[] | null;
}

/** The token of this name, and whether the caller is to request a new one: at most one caller at a time is. */
export async function claimToken(
  tx: SystemTx,
  name: string,
  claimMs: number,
): Promise<StoredToken & { isClaimed: boolean }> {
  const claim = sql`now() + ${claimMs} * interval '1 millisecond'`;
  const { rows } = await sql<StoredToken & { isClaimed: boolean }>`
    with claimed as (
      insert into source_token as t (name, requested_until) values (${name}, ${claim})
      on conflict (name) do update set requested_until = excluded.requested_until
        where (t.renew_at is null or t.renew_at <= now())
          and (t.requested_until is null or t.requested_until <= now())
      returning *),
    found as (select * from claimed union all
      select * from source_token where name = ${name} and not exists (select from claimed))
    select sealed, renew_at as "renewAt", ends_at as "endsAt", missing_scopes as "missingScopes", exists (select from claimed) as "isClaimed",
      (renew_at is null or renew_at <= now()) as "isDue", (ends_at is null or ends_at <= now()) as "isEnded"
    from found`.execute(tx.db);
  const [row] = rows;
  // Deleted between the two reads: the next call inserts it.
  const never = { sealed: null, renewAt: null, endsAt: null, missingScopes: null };
  return row ?? { ...never, isDue: true, isEnded: true, isClaimed: false };
}

/** Stores a new token and ends the claim. */
export async function saveToken(
  tx: SystemTx,
  name: string,
  token: { sealed: Buffer; renewAt: Date; endsAt: Date; missingScopes?: readonly string[] },
): Promise<void> {
  await tx.db
    .updateTable('source_token')
    .set({
      sealed: token.sealed,
      renew_at: token.renewAt,
      ends_at: token.endsAt,
      missing_scopes: token.missingScopes === undefined ? null : [...token.missingScopes],
      requested_until: null,
    })
    .where('name', '=', name)
    .execute();
}

/** Ends a claim without a token, so that the next caller tries at once. */
export async function releaseToken(tx: SystemTx, name: string): Promise<void> {
  await tx.db.updateTable('source_token').set({ requested_until: null }).where('name', '=', name).execute();
}

/** Forgets the stored token if it is still this one. */
export async function forgetToken(tx: SystemTx, name: string, sealed: Buffer): Promise<void> {
  await tx.db
    .updateTable('source_token')
    .set({ sealed: null, renew_at: null, ends_at: null })
    .where('name', '=', name)
    .where('sealed', '=', sealed)
    .execute();
}

export async function readToken(tx: SystemTx, name: string): Promise<Buffer | undefined> {
  const row = await tx.db
    .selectFrom('source_token')
    .select('sealed')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.sealed ?? undefined;
}
