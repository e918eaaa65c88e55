import { type Selectable, sql } from 'kysely';
import type { z } from 'zod';
import {
  NETWORK_QUERY_SORT,
  type NetworkQueryStatus,
  type SourceError,
  type SourceScore,
  type sourceStatusSchema,
} from '../../../contract/network-query.ts';
import { CANCEL_REASONS } from '../../../contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../../contract/source-types.ts';
import { externalIdOf } from '../../people/patients/patient-store.ts';
import type { Dialect } from '../../platform/account.ts';
import {
  columnsOf,
  type Members,
  membersOf,
  presentOf,
} from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import {
  type CountedPage,
  newestFirst,
  type PageRequest,
  readCountedPage,
} from '../../platform/database/page.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import type { Database } from '../../platform/database/schema.ts';
import { countAsksOfQuery } from './fan-out/patient-at-gateways.ts';
import type { GatewayCounts } from './rules/gateway-outcome.ts';
import {
  lastAttempts,
  overallStatus,
  type QueryState,
} from './rules/query-status.ts';

const SOURCE_SCORECARD = sqlFile('source-scorecard.sql', import.meta.url);

/**
 * How the sources and connections of these accounts did with the queries that
 * started in the period, `to` excluded.
 */
export async function readScorecard(
  tx: AccountTx | SystemTx,
  accounts: readonly string[],
  { from, to }: { from: Date; to: Date },
): Promise<SourceScore[]> {
  const { rows } = await SOURCE_SCORECARD<SourceScore>({
    accounts,
    from,
    to,
    cancelled: [...CANCEL_REASONS],
  }).execute(tx.db);
  return rows;
}

type StoredQuery = Members<'network_query'>;
type StoredAttempt = Members<'network_query_attempt'>;

/** The input of a run's workflow, and whom it is about. */
export interface RunToStart {
  origin: NewQuery['origin'];
  patientId: string;
  /** In the order of the interface. */
  sources: RunSource[];
}

/**
 * A source of a run, with the numbers of the run's newest attempt, from which
 * its workflow goes on, and of its first one.
 */
export interface RunSource {
  source: SourceType;
  attempt: number;
  firstAttempt: number;
}

export interface NewQuery
  extends Omit<
    StoredQuery,
    'accountId' | 'aal2ChallengeId' | 'status' | 'startedAt' | 'endedAt'
  > {
  aal2ChallengeId?: string;
  /** Sources that start now, each with the hash of its callback token. */
  starting: { source: SourceType; callbackHash: Buffer }[];
}

export interface StoredAttemptView
  extends Pick<
    StoredAttempt,
    | 'source'
    | 'attempt'
    | 'run'
    | 'status'
    | 'willRetry'
    | 'startedAt'
    | 'resources'
  > {
  completedAt?: Date;
  reason?: string;
  gatewaysChosenAt?: Date;
  /**
   * Set while the attempt waits before it calls a source that failed or refused
   * its calls.
   */
  waiting?: { reason: string; since: Date; nextTryAt: Date };
  /** Set in the view of one query, where gateways of networks are asked. */
  gateways?: GatewayCounts;
}

/** A query as stored, with its attempts. */
export interface StoredQueryView
  extends Pick<StoredQuery, 'patientId' | 'status' | 'startedAt' | 'metadata'> {
  requestId: string;
  /** The caller's own id of the patient. */
  externalId: string | null;
  attempts: StoredAttemptView[];
  errors: SourceError[];
}

/**
 * Inserts a query, its first run and the first attempt of each source that
 * starts. Returns the query as `readQuery` does.
 */
export async function insertQuery(
  tx: AccountTx,
  query: NewQuery,
): Promise<StoredQueryView> {
  const { id, starting, metadata, requested, startErrors, ...given } = query;
  const startable = starting.length > 0;
  const row = await tx.db
    .insertInto('network_query')
    .values({
      ...columnsOf({
        ...given,
        id,
        accountId: tx.accountId,
        status: startable ? 'running' : 'failed',
      } as const),
      metadata: metadata === null ? null : JSON.stringify(metadata),
      requested: JSON.stringify(requested),
      start_errors: JSON.stringify(startErrors),
      ended_at: startable ? null : sql<Date>`now()`,
    })
    .returningAll()
    .returning(externalIdOf('network_query.patient_id'))
    .executeTakeFirstOrThrow();
  return toView(row, startable ? await insertRun(tx, id, 0, starting) : []);
}

/**
 * Writes run `run` of a query with attempt 1 (or the given number) of each of
 * its sources; returns these attempts.
 */
export async function insertRun(
  tx: AccountTx,
  queryId: string,
  run: number,
  starting: readonly {
    source: SourceType;
    attempt?: number;
    callbackHash: Buffer;
  }[],
  redriveId?: string,
): Promise<StoredAttemptView[]> {
  const rows = await tx.db
    .with('run', (db) =>
      db.insertInto('network_query_run').values(
        columnsOf({
          queryId,
          run,
          accountId: tx.accountId,
          redriveId,
          sources: starting.map(({ source }) => source),
        }),
      ),
    )
    .insertInto('network_query_attempt')
    .values(
      starting.map(({ source, attempt = 1, callbackHash }) => ({
        ...columnsOf({
          queryId,
          source,
          attempt,
          run,
          accountId: tx.accountId,
          callbackHash,
        }),
        status: 'running' as const,
      })),
    )
    .returning(ATTEMPT_COLUMNS)
    .execute();
  return rows
    .map(toAttempt)
    .sort(
      (a, b) => SOURCE_TYPES.indexOf(a.source) - SOURCE_TYPES.indexOf(b.source),
    );
}

export async function readQuery(
  tx: AccountTx,
  queryId: string,
): Promise<StoredQueryView | undefined> {
  const query = await tx.db
    .selectFrom('network_query')
    .selectAll()
    .select(externalIdOf('network_query.patient_id'))
    .where('id', '=', queryId)
    .executeTakeFirst();
  if (query === undefined) return undefined;
  const attempts = (await readAttempts(tx, [queryId])).get(queryId) ?? [];
  return toView(query, await withGateways(tx, queryId, attempts));
}

async function withGateways(
  tx: AccountTx,
  queryId: string,
  attempts: StoredAttemptView[],
): Promise<StoredAttemptView[]> {
  if (!attempts.some(({ gatewaysChosenAt }) => gatewaysChosenAt !== undefined))
    return attempts;
  const counts = await countAsksOfQuery(tx, queryId);
  return attempts.map((each) => ({
    ...each,
    gateways: counts.get(`${each.source}/${each.attempt}`),
  }));
}

export interface QueryFilter {
  patientId?: string;
  status?: QueryState;
  source?: SourceType;
  startedAfter?: string;
}

export const QUERY_ORDER = newestFirst(
  NETWORK_QUERY_SORT,
  'q.started_at',
  'q.id',
);

/**
 * A page of the account's queries that match the filter, and how many match in
 * total.
 */
export async function listQueries(
  tx: AccountTx,
  filter: QueryFilter,
  request: PageRequest,
): Promise<CountedPage<StoredQueryView>> {
  let matching = tx.db.selectFrom('network_query as q');
  if (filter.patientId !== undefined)
    matching = matching.where('q.patient_id', '=', filter.patientId);
  if (filter.status !== undefined)
    matching = matching.where('q.status', '=', filter.status);
  if (filter.startedAfter !== undefined)
    matching = matching.where(
      'q.started_at',
      '>',
      new Date(filter.startedAfter),
    );
  if (filter.source !== undefined) {
    const { source } = filter;
    matching = matching.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('network_query_attempt as a')
          .select('a.attempt')
          .whereRef('a.query_id', '=', 'q.id')
          .where('a.source', '=', source),
      ),
    );
  }
  const rows = matching.selectAll('q').select(externalIdOf('q.patient_id'));
  const page = await readCountedPage(tx.db, rows, QUERY_ORDER, request);
  const attempts = await readAttempts(
    tx,
    page.items.map((row) => row.id),
  );
  return {
    ...page,
    items: page.items.map((row) => toView(row, attempts.get(row.id))),
  };
}

const ATTEMPT_COLUMNS = [
  'query_id',
  'source',
  'attempt',
  'run',
  'status',
  'will_retry',
  'reason',
  'resources',
  'started_at',
  'completed_at',
  'waiting_for',
  'failing_since',
  'next_try_at',
  'gateways_chosen_at',
] as const;

function toAttempt(
  row: Pick<
    Selectable<Database['network_query_attempt']>,
    (typeof ATTEMPT_COLUMNS)[number]
  >,
): StoredAttemptView {
  const { waitingFor, failingSince, nextTryAt, ...known } = presentOf(row);
  const isWaiting =
    waitingFor !== undefined &&
    failingSince !== undefined &&
    nextTryAt !== undefined;
  return {
    ...known,
    waiting: isWaiting
      ? { reason: waitingFor, since: failingSince, nextTryAt }
      : undefined,
  };
}

async function readAttempts(
  tx: AccountTx,
  queryIds: readonly string[],
): Promise<Map<string, StoredAttemptView[]>> {
  const byQuery = new Map<string, StoredAttemptView[]>(
    queryIds.map((id) => [id, []]),
  );
  if (queryIds.length === 0) return byQuery;
  const rows = await tx.db
    .selectFrom('network_query_attempt')
    .select(ATTEMPT_COLUMNS)
    .where('query_id', 'in', queryIds)
    .orderBy(IN_SOURCE_ORDER)
    .orderBy('attempt')
    .execute();
  for (const row of rows) {
    byQuery.get(row.query_id)?.push(toAttempt(row));
  }
  return byQuery;
}

const IN_SOURCE_ORDER = sql`array_position(array['hie','pharmacy','lab'], source)`;

function toView(
  row: Selectable<Database['network_query']> & { external_id: string | null },
  attempts: StoredAttemptView[] = [],
): StoredQueryView {
  const { id: requestId, start_errors: errors, ...known } = row;
  return { ...membersOf(known), requestId, attempts, errors };
}

export type LockedQuery = NonNullable<Awaited<ReturnType<typeof lockQuery>>>;

/**
 * Locks the query's row until the transaction ends; undefined when there is no
 * such query. Every change of an attempt's status takes this lock first, so the
 * overall status always follows from all attempts.
 */
export const lockQuery = (tx: AccountTx, queryId: string) =>
  tx.db
    .selectFrom('network_query')
    .select(['id', 'patient_id', 'metadata', 'status', 'requested'])
    .select(externalIdOf('network_query.patient_id'))
    .where('id', '=', queryId)
    // Not FOR UPDATE: rows that refer to the query by foreign key (its
    // timeline) may still be inserted.
    .forNoKeyUpdate()
    .executeTakeFirst();

/**
 * Recomputes the overall status from the attempts; when no attempt is open,
 * ends the query's runs. Returns the status.
 *
 * @param known the status of the locked query, if the caller has it
 */
export async function settleQuery(
  tx: AccountTx,
  queryId: string,
  known?: QueryState,
): Promise<QueryState> {
  const status = await readOverallStatus(tx, queryId);
  await writeStatus(tx, queryId, status, known);
  return status;
}

/** What follows from the attempts. */
export async function readOverallStatus(
  tx: AccountTx,
  queryId: string,
): Promise<QueryState> {
  const attempts = await readAttempts(tx, [queryId]);
  return overallStatus(attempts.get(queryId) ?? []);
}

/** The second half of `settleQuery`. */
export async function writeStatus(
  tx: AccountTx,
  queryId: string,
  status: QueryState,
  known?: QueryState,
): Promise<void> {
  if (status === 'running' && known === 'running') return;
  await tx.db.later
    .updateTable('network_query')
    .set({
      status,
      ended_at:
        status === 'running' ? null : sql<Date>`coalesce(ended_at, now())`,
    })
    .where('id', '=', queryId)
    .execute();
  if (status !== 'running') {
    await tx.db.later
      .updateTable('network_query_run')
      .set({ ended_at: sql<Date>`now()` })
      .where('query_id', '=', queryId)
      .where('ended_at', 'is', null)
      .execute();
  }
}

/**
 * A query as E2 and E4 return it, with `processing` for whatever is running.
 */
export const serializeStartedQuery = (
  query: StoredQueryView,
  dialect: Dialect,
): NetworkQueryStatus => queryAnswer(query, dialect, 'processing');

/**
 * A query as E3 and its related operations return it, with `in-progress` for
 * whatever is running.
 */
export const serializeQueryStatus = (
  query: StoredQueryView,
  dialect: Dialect,
): NetworkQueryStatus =>
  queryAnswer(
    query,
    dialect,
    dialect === 'published' ? 'processing' : 'in-progress',
  );

type Running = 'processing' | 'in-progress';

type SourceStatus = z.output<typeof sourceStatusSchema>;

function queryAnswer(
  query: StoredQueryView,
  dialect: Dialect,
  running: Running,
): NetworkQueryStatus {
  const attempts =
    dialect === 'published' ? lastAttempts(query.attempts) : query.attempts;
  return {
    requestId: query.requestId,
    patientId: query.patientId,
    externalId: query.externalId ?? undefined,
    startedAt: query.startedAt.toISOString(),
    status: query.status === 'running' ? running : query.status,
    sources: attempts.map((attempt) => ({
      type: attempt.source,
      status: sourceStatus(attempt, dialect, running),
      startedAt: attempt.startedAt.toISOString(),
      completedAt: attempt.completedAt?.toISOString(),
      reason: attempt.status === 'failed' ? attempt.reason : undefined,
      waiting: attempt.waiting && {
        reason: attempt.waiting.reason,
        since: attempt.waiting.since.toISOString(),
        nextTryAt: attempt.waiting.nextTryAt.toISOString(),
      },
      gateways: attempt.gateways,
    })),
    ...(query.errors.length > 0 ? { errors: query.errors } : {}),
  };
}

/**
 * The published dialect has one entry per source, so a source that awaits a
 * retry counts as running, not as failed.
 */
function sourceStatus(
  attempt: StoredAttemptView,
  dialect: Dialect,
  running: Running,
): SourceStatus {
  if (attempt.status === 'running') return running;
  return dialect === 'published' && attempt.willRetry
    ? running
    : attempt.status;
}
