import { sql } from 'kysely';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import { mayHaveAttachments } from '../rules/attachments.ts';
import { isInNamespace } from '../rules/ids.ts';
import type { Identity, RetireReason } from '../rules/retirement.ts';
import { lockRecord } from './merge-store.ts';

const RETIRE = sqlFile('retire.sql', import.meta.url);

/**
 * The part of an attempt whose answer is compared. One without an id is the
 * whole attempt.
 */
export interface AnsweredStep extends SourceStepInput {
  part: { id: string | null; namespace: string };
}

/**
 * Records which resources a page contained; the end of the attempt compares
 * them with those collected before.
 */
export async function recordPageResources(
  tx: AccountTx,
  step: AnsweredStep,
  page: number,
  {
    resources,
    isPartial,
  }: { resources: readonly Identity[]; isPartial: boolean },
): Promise<void> {
  await tx.db.later
    .insertInto('answered_page')
    .values({
      query_id: step.requestId,
      source: step.source,
      attempt: step.attempt,
      page,
      account_id: tx.accountId,
      connection_id: step.part.id,
      resources: resources.map(referenceTo),
      is_partial: isPartial,
    })
    .execute();
}

export async function deletePageResources(
  tx: AccountTx,
  step: SourceStepInput,
): Promise<void> {
  await tx.db.later
    .deleteFrom('answered_page')
    .where(({ and }) =>
      and({
        query_id: step.requestId,
        source: step.source,
        attempt: step.attempt,
      }),
    )
    .execute();
}

export interface CompleteResult {
  /** Collected from this source before and not contained in this result. */
  missing: Identity[];
  /**
   * One resource of each type in the result, type to id; empty when nothing is
   * missing.
   */
  present: Map<string, string>;
}

/**
 * Finds the resources that a complete result no longer contains. A connection's
 * result is compared only with what the same connection delivered before.
 * Returns undefined when the result is not known to be complete: the source
 * reported errors, or an older version of this service stored some page without
 * recording it.
 */
export async function findMissing(
  tx: AccountTx,
  step: AnsweredStep,
  patientId: string,
): Promise<CompleteResult | undefined> {
  const { requestId, source, attempt, part } = step;
  const answered = sql`answered_page where query_id = ${requestId} and source = ${source} and attempt = ${attempt}
    and connection_id is not distinct from ${part.id}::uuid`;
  const stored =
    part.id === null
      ? sql`select pages from network_query_attempt
          where query_id = ${requestId} and source = ${source} and attempt = ${attempt}`
      : sql`select pages from network_query_part where query_id = ${requestId} and source = ${source}
          and attempt = ${attempt} and connection_id = ${part.id}`;
  const { rows } = await sql<{ before: Identity[] | null }>`
    select case when w.is_whole then (
      select coalesce(jsonb_agg(jsonb_build_object('resourceType', resource_type, 'id', source_id)), '[]') from (
        select resource_type, source_id from patient_resource
        where patient_id = ${patientId} and source = ${source} and converted_from is null
        except
        select split_part(name, '/', 1), split_part(name, '/', 2) from (select unnest(resources) as name from ${answered}) n
      ) as b
    ) end as before
    from (select count(*) = (${stored}) and not coalesce(bool_or(is_partial), false) as is_whole from ${answered}) as w
  `.execute(tx.db);
  const before = rows[0]?.before ?? undefined;
  if (before === undefined) return undefined;
  const missing = before.filter(({ id }) => isInNamespace(part.namespace, id));
  if (missing.length === 0) return { missing, present: new Map() };
  const present = await sql<Identity>`
    select distinct on (split_part(name, '/', 1)) split_part(name, '/', 1) as "resourceType", split_part(name, '/', 2) as id
    from (select unnest(resources) as name from ${answered}) n`.execute(tx.db);
  return {
    missing,
    present: new Map(
      present.rows.map(({ resourceType, id }) => [resourceType, id]),
    ),
  };
}

/**
 * Retires resources of a source: moves them to `retired_resource` with the
 * reason, so that the next merge removes them from the record. The resources
 * converted from a document are retired with the resource whose file it is. A stored
 * version newer than the retraction stays.
 */
export async function retire(
  tx: AccountTx,
  step: SourceStepInput,
  patientId: string,
  retired: readonly (Identity & { reason: RetireReason; revision: string })[],
): Promise<void> {
  if (retired.length === 0) return;
  // Prevents a concurrent conversion of the document.
  if (retired.some(({ resourceType }) => mayHaveAttachments(resourceType)))
    await lockRecord(tx, patientId);
  await RETIRE({
    retired: JSON.stringify(retired),
    patientId,
    source: step.source,
    requestId: step.requestId,
    attempt: step.attempt,
  }).execute(tx.db.later);
}

/**
 * Retires what a query has brought of a connection: its answer turned out to be
 * about another person.
 */
export async function retireBroughtBy(
  tx: AccountTx,
  step: AnsweredStep,
  patientId: string,
): Promise<void> {
  const brought = await tx.db
    .selectFrom('patient_resource as r')
    .innerJoin('document as d', 'd.id', 'r.document_id')
    .select(['r.resource_type as resourceType', 'r.source_id as id'])
    .where('r.patient_id', '=', patientId)
    .where('r.source', '=', step.source)
    .where('r.converted_from', 'is', null)
    .where('d.query_id', '=', step.requestId)
    .execute();
  const own = brought.filter(({ id }) =>
    isInNamespace(step.part.namespace, id),
  );
  await retire(
    tx,
    step,
    patientId,
    own.map((each) => ({ ...each, reason: 'moved' as const, revision: '' })),
  );
}

/**
 * The number of resources that an attempt retired, by reason and type; without
 * those converted from documents.
 */
export async function countRetired(
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
): Promise<{ reason: RetireReason; resourceType: string; count: number }[]> {
  return tx.db
    .selectFrom('retired_resource')
    .select(['reason', 'resource_type as resourceType'])
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(({ and }) => and({ query_id: requestId, source, attempt }))
    .where('converted_from', 'is', null)
    .groupBy(['reason', 'resource_type'])
    .orderBy('resource_type')
    .execute();
}

const referenceTo = ({ resourceType, id }: Identity): string =>
  `${resourceType}/${id}`;
