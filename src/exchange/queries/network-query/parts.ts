import type { SourceStepInput } from '../../../contract/network-query-steps.ts';
import type { Store } from '../../platform/database/database.ts';
import type { SourceConnections } from '../../sources/connections/connections.ts';
import { SourceFailure } from '../../sources/connectors/connector.ts';
import { type AttemptWork, readAttempt, updateAttempt } from './attempt-store.ts';
import { completeAttempt } from './endings.ts';
import { recordExclusions } from './omissions.ts';
import { insertParts, type Part, readParts } from './part-store.ts';
import { lockQuery } from './query-store.ts';

/**
 * The parts of an attempt: one for each connection that the account has for this source when the attempt begins. None when
 * the account has no connections of its own, or the attempt began before it had any. Throws SourceFailure when none of its
 * connections may be asked.
 */
export async function openParts(
  { store, connections }: { store: Pick<Store, 'asAccount'>; connections: SourceConnections },
  step: SourceStepInput,
  attempt: AttemptWork,
): Promise<Part[]> {
  return store.asAccount(step.accountId, async (tx) => {
    const opened = await readParts(tx, step);
    const hasBegun = attempt.job !== null || attempt.cursor !== null || attempt.pages > 0;
    if (opened.length > 0 || hasBegun) return opened;
    const toAsk = await connections.toAsk(tx, step.source, attempt.facilityIds);
    if (toAsk === undefined) return [];
    if (toAsk.length === 0)
      throw new SourceFailure(
        'refused',
        `No connection to the ${step.source} source is enabled for this patient's facilities`,
      );
    await insertParts(tx, step, toAsk);
    return readParts(tx, step);
  });
}

/** Completes an attempt of which at least one part completed. Returns how many resources it has collected. */
export async function completeParts(
  store: Pick<Store, 'asAccount'>,
  step: SourceStepInput,
  patientId: string,
  says: { note?: string; gap?: string },
): Promise<number> {
  return store.asAccount(step.accountId, async (tx) => {
    await lockQuery(tx, step.requestId);
    await recordExclusions(tx, step, patientId);
    await completeAttempt(tx, step, says);
    return (await readAttempt(tx, step))?.resources ?? 0;
  });
}

/** Shows callers that every open part waits for its connection, or that this is no longer so. */
export async function showWaiting(
  store: Pick<Store, 'asAccount'>,
  step: SourceStepInput,
  waiting: { reason: string; nextTryAt: Date } | undefined,
): Promise<void> {
  await store.asAccount(step.accountId, (tx) =>
    updateAttempt(tx, step)
      .set(({ fn, val }) => ({
        waiting_for: waiting?.reason ?? null,
        next_try_at: waiting?.nextTryAt ?? null,
        failing_since: waiting === undefined ? null : fn.coalesce('failing_since', val(new Date())),
      }))
      .where('status', '=', 'running')
      .execute(),
  );
}
