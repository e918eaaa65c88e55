import { type Selectable, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { SourceType } from '../../../contract/primitives.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';
import type { Decision, StatedConsent } from './rules/fhir-consent.ts';

export type StoredConsent = Selectable<Database['consent']>;

const LISTED_MAX = 500;

export async function insertConsent(
  tx: AccountTx,
  patientId: string,
  {
    decision,
    stated,
    actor,
  }: { decision: Decision; stated: StatedConsent; actor: string },
): Promise<StoredConsent> {
  return tx.db
    .insertInto('consent')
    .values({
      id: uuidv7(),
      account_id: tx.accountId,
      patient_id: patientId,
      recorded_by: actor,
      decision: decision.decision,
      sources: decision.sources,
      purposes: decision.purposes,
      period_start: decision.periodStart,
      period_end: decision.periodEnd,
      labels: decision.labels,
      resource: JSON.stringify(stated),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Newest first, at most 500. */
export async function listConsents(
  tx: AccountTx,
  patientId: string,
): Promise<StoredConsent[]> {
  return tx.db
    .selectFrom('consent')
    .selectAll()
    .where('patient_id', '=', patientId)
    .orderBy('recorded_at', 'desc')
    .orderBy('id', 'desc')
    .limit(LISTED_MAX)
    .execute();
}

export async function findConsent(
  tx: AccountTx,
  patientId: string,
  id: string,
): Promise<StoredConsent | undefined> {
  return tx.db
    .selectFrom('consent')
    .selectAll()
    .where(({ and }) => and({ patient_id: patientId, id }))
    .executeTakeFirst();
}

/** Finds the named consents that belong to the account. */
export async function findConsentsById(
  tx: AccountTx,
  ids: readonly string[],
): Promise<StoredConsent[]> {
  if (ids.length === 0) return [];
  return tx.db
    .selectFrom('consent')
    .selectAll()
    .where('id', 'in', [...ids])
    .orderBy('id')
    .execute();
}

/** Ends a consent; one that has ended stays as it is. */
export async function endConsent(
  tx: AccountTx,
  id: string,
  actor: string,
): Promise<void> {
  await tx.db
    .updateTable('consent')
    .set({ ended_at: sql<Date>`now()`, ended_by: actor })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
}

/** A consent about labels whose period has begun or ended. */
export interface PassedConsent {
  id: string;
  accountId: string;
  since: Date;
}

/**
 * Consents about labels, of all accounts, whose period has begun or ended since
 * what they release was marked as changed last; oldest first.
 */
export async function findPassedConsents(
  tx: SystemTx,
  limit: number,
): Promise<PassedConsent[]> {
  const { rows } = await sql<PassedConsent>`
    select id, account_id as "accountId", min(at) as since
    from consent cross join unnest(array[period_start, period_end]) as at
    where labels <> '{}' and at > released_until and at <= now()
    group by id order by since limit ${limit}`.execute(tx.db);
  return rows;
}

/**
 * Marks what a consent releases as changed, so that readers of changes get it. A
 * trigger does that whenever the row of a consent is written.
 */
export async function markReleased(tx: AccountTx, id: string): Promise<void> {
  await tx.db
    .updateTable('consent')
    .set({ released_until: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

/**
 * The sources that a patient's consents in force now exclude for a purpose. A
 * permit lifts no denial.
 */
export async function deniedSources(
  tx: AccountTx,
  patientId: string,
  purpose: 'treatment' | 'ias',
  among: readonly SourceType[],
): Promise<Set<SourceType>> {
  const { rows } = await sql<{ sources: SourceType[] }>`
    select sources from denied_sources(${patientId}, ${purpose}) as sources`.execute(
    tx.db,
  );
  return new Set(
    rows.flatMap(({ sources }) => (sources.length === 0 ? among : sources)),
  );
}
