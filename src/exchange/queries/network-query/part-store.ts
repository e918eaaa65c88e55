import { sql } from 'kysely';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import { counted } from '../../../lib/counted.ts';
import { minuteOf } from '../../../lib/time.ts';
import { columnsOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type {
  AskedConnection,
  DefaultConnection,
  OwnConnection,
} from '../../sources/connections/connections.ts';
import type { Collection } from './tables.ts';
import { addOfStep, addToTimeline } from './timeline-store.ts';

/** How far a part of an attempt has come. */
export type Progress = Omit<
  Awaited<ReturnType<typeof readAttemptParts>>[number],
  keyof OwnConnection
>;

/** The part of one of the account's own connections. */
export type AttemptPart = OwnConnection & Progress;

export const updatePart = (
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
  id: string,
) =>
  tx.db
    .updateTable('network_query_part')
    .where(({ and }) =>
      and({ query_id: requestId, source, attempt, connection_id: id }),
    );

/**
 * Whether a part is its whole attempt: that of the default connection. Both are
 * one row, so they end together, and the attempt's own deadline and further
 * attempts are the part's. The parts of an account's own connections have rows
 * beside the attempt's.
 */
export const isWhole = (part: AskedConnection): part is DefaultConnection =>
  part.id === null;

/**
 * Begins a message with the name of the connection that it is about, unless
 * there is only that one.
 */
export const ofConnection = (
  { part }: { part: AskedConnection },
  message: string,
): string => (isWhole(part) ? message : `${part.name}: ${message}`);

/**
 * Inserts a part for each connection and records in the timeline that it is
 * asked. Safe to repeat.
 */
export async function insertParts(
  tx: AccountTx,
  step: SourceStepInput,
  connections: readonly OwnConnection[],
): Promise<void> {
  const { source, attempt, requestId } = step;
  if (connections.length === 0) return;
  await tx.db.later
    .insertInto('network_query_part')
    .values(
      connections.map(({ id: connectionId, name, namespace }) =>
        columnsOf({
          queryId: requestId,
          source,
          attempt,
          connectionId,
          accountId: tx.accountId,
          name,
          namespace,
        }),
      ),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await addToTimeline(
    tx,
    requestId,
    ...connections.map(({ id, name }) => ({
      source,
      attempt,
      kind: 'asked',
      message: `Asking ${name}`,
      onceKey: `asked/${source}/${attempt}/${id}`,
    })),
  );
}

/**
 * The parts of an attempt that have rows of their own, by the names of their
 * connections.
 */
export const readAttemptParts = (tx: AccountTx, step: SourceStepInput) =>
  tx.db
    .selectFrom('network_query_part')
    .select([
      'connection_id as id',
      'name',
      'namespace',
      'status',
      'reason',
      'job',
      'cursor',
      'pages',
    ])
    .select([
      'resources',
      'collected as isCollected',
      'failed_calls as failedCalls',
    ])
    .select(['failed_tries as failedTries', 'paused_ms as pausedMs'])
    .select(['waiting_for as waitingFor', 'next_try_at as nextTryAt'])
    .where(({ and }) =>
      and({
        query_id: step.requestId,
        source: step.source,
        attempt: step.attempt,
      }),
    )
    .orderBy('name')
    .execute();

/**
 * Ends a part and records it in the timeline. Returns how its connection was
 * asked, if that is recorded. Ending a part that has ended does nothing.
 */
export async function endPart(
  tx: AccountTx,
  step: SourceStepInput,
  part: OwnConnection,
  end: { status: 'completed' | 'failed'; reason?: string },
): Promise<Collection | undefined> {
  const ended = await updatePart(tx, step, part.id)
    .set({
      status: end.status,
      reason: end.reason ?? null,
      completed_at: sql<Date>`clock_timestamp()`,
      waiting_for: null,
      next_try_at: null,
    })
    .where('status', '=', 'running')
    .returning(['resources', 'documents', 'collection'])
    .executeTakeFirst();
  if (ended === undefined) return undefined;
  const since =
    ended.collection?.since === undefined
      ? ''
      : ` of what changed since ${minuteOf(ended.collection.since)}`;
  const collected = `${counted(ended.resources, 'resource')} and ${counted(ended.documents, 'document')} collected${since}`;
  const outcome = {
    completed: end.reason ?? collected,
    failed: `failed: ${end.reason ?? ''}`,
  }[end.status];
  await addOfStep(tx, step, {
    kind: `connection-${end.status}`,
    message: ofConnection({ part }, outcome),
  });
  return ended.collection ?? undefined;
}
