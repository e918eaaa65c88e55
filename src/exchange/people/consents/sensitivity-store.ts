import { sql } from 'kysely';
import { type SystemTx, takeAdminRole } from '../../platform/database/database.ts';
import { textArray } from '../../platform/database/pg-arrays.ts';

export async function setSensitivityPolicy(
  tx: SystemTx,
  accountId: string,
  labels: readonly string[],
): Promise<void> {
  await takeAdminRole(tx);
  await sql`
    insert into sensitivity_policy (account_id, labels) values (${accountId}, ${[...labels]})
    on conflict (account_id) do update set labels = excluded.labels, changed_at = now()`.execute(tx.db);
}

export async function insertSensitiveCodes(
  tx: SystemTx,
  label: string,
  codes: readonly { system: string; code: string }[],
): Promise<void> {
  await takeAdminRole(tx);
  await sql`
    insert into sensitive_code (label, system, code)
    select distinct ${label}, system, code
    from unnest(${textArray(codes.map(({ system }) => system))}::text[],
      ${textArray(codes.map(({ code }) => code))}::text[]) as n(system, code)
    on conflict do nothing`.execute(tx.db);
}

/** What each account withholds, and the number of codes of each label. */
export async function readSensitivity(tx: SystemTx) {
  const policies = await tx.db
    .selectFrom('sensitivity_policy')
    .select(['account_id as account', 'labels'])
    .orderBy('account_id')
    .execute();
  const codes = await tx.db
    .selectFrom('sensitive_code')
    .select(({ fn }) => ['label', fn.countAll<number>().as('count')])
    .groupBy('label')
    .orderBy('label')
    .execute();
  return { policies, codes };
}
