import { type RawBuilder, sql } from 'kysely';
import { type Members, membersOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  type Alternative,
  type Clause,
  type DateCondition,
  NOT_INDEXED,
} from '../rules/search.ts';
import { LEADS, mayLeave } from './record-store.ts';

export interface RecordSearch {
  resourceType: string;
  clauses: readonly Clause[];
  /** Conditions on the time of the last change in our record. */
  lastUpdated: readonly (readonly DateCondition[])[];
  ids?: readonly string[];
  sort: { by: 'date' | 'lastUpdated'; isDescending: boolean };
}

export interface FoundPlace {
  id: string;
  /** What the results are sorted by. */
  sortDate: string;
}

/** When a resource changed, as a text that sorts like the time. */
const CHANGED_AT = sql<string>`(select to_char(r.changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')
  from record_resource r where r.patient_id = l.patient_id and r.resource_id = l.resource_id)`;

/**
 * Up to `count` resources of a patient's record after `after`, in order. All
 * that match are found, and some that do not: what one delivery of a resource
 * contains may be missing in the consolidated resource (`matchesAll` decides).
 */
export async function searchLeading(
  tx: AccountTx,
  patientId: string,
  { resourceType, clauses, lastUpdated, ids, sort }: RecordSearch,
  after: FoundPlace | undefined,
  count: number,
): Promise<FoundPlace[]> {
  const direction = sort.isDescending ? 'desc' : 'asc';
  const key = sort.by === 'date' ? sql<string>`sort_date` : CHANGED_AT;
  let query = tx.db
    .selectFrom('merged_place as l')
    .select(key.as('sortDate'))
    .select(sql<string>`resource_id`.as('id'))
    .where('patient_id', '=', patientId)
    .where(LEADS)
    .where(mayLeave(tx, patientId))
    .where('resource_type', '=', resourceType)
    .orderBy(key, direction)
    .orderBy('resource_id', direction)
    .limit(count);
  for (const clause of clauses)
    query = query.where(
      sql<boolean>`resource_id in (select resource_id from merged_origin
        where patient_id = ${patientId} and resource_type = ${resourceType} and resource_id is not null
        and (${sql.join([sql`search && array[${NOT_INDEXED}]`, ...clause.map(matching)], sql` or `)}))`,
    );
  for (const conditions of lastUpdated)
    query = query.where(
      sql<boolean>`exists (select from record_resource r where r.patient_id = ${patientId}
        and r.resource_id = l.resource_id
        and (${sql.join(
          conditions.map((condition) =>
            changedWhen(sql`r.changed_at`, condition),
          ),
          sql` or `,
        )}))`,
    );
  if (ids !== undefined)
    query = query.where(sql<boolean>`resource_id = any(${[...ids]}::uuid[])`);
  if (after !== undefined)
    query = query.where(
      sql<boolean>`(${key}, resource_id) ${sql.raw(sort.isDescending ? '<' : '>')} (${after.sortDate}, ${after.id}::uuid)`,
    );
  return query.execute();
}

function matching(alternative: Alternative): RawBuilder<boolean> {
  switch (alternative.kind) {
    case 'equal':
      return sql`search && ${[...alternative.entries]}::text[]`;
    case 'affixes':
      return sql`exists (select from unnest(search) entry
        where starts_with(entry, ${alternative.start}) and right(entry, ${[...alternative.end].length}) = ${alternative.end})`;
    case 'date': {
      const { start, condition } = alternative;
      const part = (at: number) =>
        sql`split_part(substr(entry, ${start.length + 1}), '~', ${sql.lit(at)})`;
      const [low, high] = condition.isDay
        ? [part(3), part(4)]
        : [part(1), part(2)];
      return sql`exists (select from unnest(search) entry
        where starts_with(entry, ${start}) and ${dateMatches(condition, low, high)})`;
    }
  }
}

/** Whether a period meets the condition, which `matchesDate` explains. */
function dateMatches(
  { prefix, range, isDay }: DateCondition,
  low: RawBuilder<unknown>,
  high: RawBuilder<unknown>,
): RawBuilder<boolean> {
  const [from, to] = isDay
    ? [range.firstDay, range.lastDay]
    : [range.from, range.to];
  const isWithin = sql`(${low} >= ${from} and ${high} <= ${to})`;
  switch (prefix) {
    case 'eq':
      return sql`${isWithin}`;
    case 'ne':
      return sql`not ${isWithin}`;
    case 'gt':
      return sql`${high} > ${to}`;
    case 'lt':
      return sql`${low} < ${from}`;
    case 'ge':
      return sql`(${high} > ${to} or ${isWithin})`;
    case 'le':
      return sql`(${low} < ${from} or ${isWithin})`;
    case 'sa':
      return sql`${low} > ${to}`;
    case 'eb':
      return sql`${high} < ${from}`;
  }
}

/**
 * The time of a change is one instant, and has no day of its own: days are
 * those of UTC.
 */
export const changedWhen = (
  at: RawBuilder<unknown>,
  { prefix, range: { from, to } }: DateCondition,
) =>
  comparedWith(at, prefix, sql`${from}::timestamptz`, sql`${to}::timestamptz`);

/**
 * Whether an instant, or a day, is as a condition says of those from `first` to
 * `last`.
 */
export function comparedWith(
  at: RawBuilder<unknown>,
  prefix: DateCondition['prefix'],
  first: RawBuilder<unknown>,
  last: RawBuilder<unknown>,
): RawBuilder<boolean> {
  switch (prefix) {
    case 'eq':
      return sql`${at} between ${first} and ${last}`;
    case 'ne':
      return sql`${at} not between ${first} and ${last}`;
    case 'gt':
    case 'sa':
      return sql`${at} > ${last}`;
    case 'ge':
      return sql`${at} >= ${first}`;
    case 'lt':
    case 'eb':
      return sql`${at} < ${first}`;
    case 'le':
      return sql`${at} <= ${last}`;
  }
}

/**
 * Where a resource is: its patient, and whether it has gone. The id may be that
 * of its generated Provenance.
 */
export type ResourceStanding = Members<'record_resource'>;

/**
 * The resources that may leave with these ids, or whose generated Provenance
 * has one of them.
 */
export async function findResources(
  tx: AccountTx,
  ids: readonly string[],
): Promise<ResourceStanding[]> {
  const wanted = sql<string>`any(${[...ids]}::uuid[])`;
  const rows = await tx.db
    .selectFrom('record_resource')
    .selectAll()
    .where(sql<boolean>`(resource_id = ${wanted} or provenance_id = ${wanted})`)
    .where(
      sql<boolean>`resource_id not in (select withheld_resources(account_id, patient_id))`,
    )
    .execute();
  return rows.map(membersOf);
}

/** When these resources of a patient's record last changed. */
export async function readChangeTimes(
  tx: AccountTx,
  patientId: string,
  ids: readonly string[],
): Promise<Map<string, Date>> {
  const rows = await tx.db
    .selectFrom('record_resource')
    .select(['resource_id as id', 'changed_at as changedAt'])
    .where(({ and }) =>
      and({
        patient_id: patientId,
        resource_id: sql<string>`any(${[...ids]}::uuid[])`,
      }),
    )
    .execute();
  return new Map(rows.map(({ id, changedAt }) => [id, changedAt]));
}
