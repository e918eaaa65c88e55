import { sql } from 'kysely';
import type { SourceStepInput } from '../../../contract/network-query-steps.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { AskedConnection } from '../../sources/connections/connections.ts';
import { ChangesNotHonoured } from '../../sources/connectors/connector.ts';
import { type PartStep, updateProgress } from './attempt-store.ts';
import { CountsDiffer, CountsMissing } from './complete.ts';
import { ofConnection, updatePart } from './part-store.ts';
import { addToTimeline } from './timeline-store.ts';

/** Forgets what a connection has answered in this attempt. Resources that it delivered stay in the record. */
async function forgetAnswer(tx: AccountTx, step: PartStep): Promise<void> {
  const { requestId, source, attempt, part } = step;
  const before = await updateProgress(tx, step)
    .set({ resources: sql`resources` })
    .returning(['resources', 'strays', 'documents'])
    .executeTakeFirstOrThrow();
  if (part !== undefined)
    await updateProgress(tx, { ...step, part: undefined })
      .set({
        resources: sql`resources - ${before.resources}`,
        strays: sql`strays - ${before.strays}`,
        documents: sql`documents - ${before.documents}`,
      })
      .execute();
  await sql`delete from answered_page where query_id = ${requestId} and source = ${source} and attempt = ${attempt}
    and connection_id is not distinct from ${part?.id ?? null}::uuid`.execute(tx.db);
  await updateProgress(tx, step)
    .set({
      ...{ job: null, cursor: null, collected: false, collection: null },
      ...{ pages: 0, resources: 0, strays: 0, documents: 0 },
    })
    .where('status', '=', 'running')
    .execute();
}

/** Why an answer with changes was not enough. */
export type NotEnough = ChangesNotHonoured | CountsDiffer | CountsMissing;
export const isNotEnough = (error: unknown): error is NotEnough =>
  error instanceof ChangesNotHonoured || error instanceof CountsDiffer || error instanceof CountsMissing;

/** A clause for the timeline. */
function clauseOf(reason: NotEnough): string {
  if (reason instanceof ChangesNotHonoured) return 'returned something older';
  if (reason instanceof CountsMissing) return 'does not count what it has';
  return 'counts other numbers of resources than the record has';
}

/** Asks a connection for everything, because its answer with changes was not enough. */
export async function askForEverything(tx: AccountTx, step: PartStep, reason: NotEnough): Promise<void> {
  await forgetAnswer(tx, step);
  const { source, attempt } = step;
  const message = ofConnection(
    step,
    `Asked for changes, the source ${clauseOf(reason)}; it is asked for everything`,
  );
  const onceKey = `everything/${source}/${attempt}/${step.part?.id ?? ''}`;
  await addToTimeline(tx, step.requestId, { source, attempt, kind: 'asked', message, onceKey });
}

/**
 * Asks a connection again after a while: it accepted the request and then failed. Resources that it delivered stay in the
 * record.
 */
export async function restartPart(
  tx: AccountTx,
  step: SourceStepInput,
  part: AskedConnection,
  again: { reason: string; afterMs: number },
): Promise<void> {
  await forgetAnswer(tx, { ...step, part });
  await updatePart(tx, step, part.id)
    .set({
      failed_tries: sql`failed_tries + 1`,
      waiting_for: again.reason,
      next_try_at: sql<Date>`clock_timestamp() + ${again.afterMs} * interval '1 millisecond'`,
    })
    .where('status', '=', 'running')
    .execute();
  const { source, attempt, requestId } = step;
  const message = `failed: ${again.reason}; it is asked again in ${Math.round(again.afterMs / 1000)} s`;
  await addToTimeline(tx, requestId, {
    source,
    attempt,
    kind: 'connection-failed',
    message: ofConnection({ part }, message),
  });
}
