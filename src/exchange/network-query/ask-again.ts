import { sql } from 'kysely';
import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { AccountTx } from '../platform/database/database.ts';
import type { AskedConnection } from '../source-connections/connections.ts';
import { type PartStep, updateProgress } from './attempt-store.ts';
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

/** Asks a connection for everything, because its answer with changes was not enough. @param why a clause for the timeline */
export async function askForEverything(tx: AccountTx, step: PartStep, why: string): Promise<void> {
  await forgetAnswer(tx, step);
  const { source, attempt } = step;
  const message = ofConnection(step, `Asked for changes, the source ${why}; it is asked for everything`);
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
