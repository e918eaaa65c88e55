import type { SourceType } from '../../../contract/primitives.ts';
import { findAccount } from '../../access/accounts/account-store.ts';
import { deniedSources } from '../../people/consents/consent-store.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { ConflictError } from '../../platform/errors.ts';
import { orNotFound } from '../../platform/http/operation.ts';
import { callbackHash, callbackToken } from './callback-token.ts';
import { refusal } from './prepare.ts';
import { type AttemptView, insertRun, lockQuery, readQuery, settleQuery } from './query-store.ts';
import { lastAttempts } from './rules/query-status.ts';
import { latestRun } from './run-store.ts';
import { addToTimeline } from './timeline-store.ts';

/**
 * Writes a new run that retries a source of a query whose workflow has ended; the lock on the query prevents a second one.
 * Returns its number. Throws 404 or 409.
 *
 * @param of.redriveId the redrive that retries it; its run yields to interactive ones
 */
export async function openRetryRun(
  tx: AccountTx,
  of: { requestId: string; source: SourceType; callbackKey: string; redriveId?: string },
): Promise<number> {
  const { requestId, source, redriveId } = of;
  orNotFound('Network query', await lockQuery(tx, requestId));
  const { run: newest } = await latestRun(tx, requestId);
  const attempt = (await checkRetryable(tx, requestId, source)) + 1;
  const run = newest + 1;
  const token = callbackToken(of.callbackKey, requestId, source, attempt);
  await insertRun(tx, requestId, run, [{ source, attempt, callbackHash: callbackHash(token) }], redriveId);
  await settleQuery(tx, requestId);
  const why = redriveId === undefined ? 'on request' : `by the redrive ${redriveId}`;
  await addToTimeline(tx, requestId, {
    source,
    attempt,
    kind: 'redrive',
    message: `The ${source} source is retried ${why}; attempt ${attempt} starts now`,
  });
  return run;
}

export const isOpen = ({ status, willRetry }: AttemptView): boolean => status === 'running' || willRetry;

/** The number of the source's last attempt, 0 when it never started. Throws 404 or 409 when it cannot be retried. */
export async function checkRetryable(tx: AccountTx, requestId: string, source: SourceType): Promise<number> {
  const query = orNotFound('Network query', await readQuery(tx, requestId));
  const last = lastAttempts(query.attempts).find((attempt) => attempt.source === source);
  if (last === undefined && !query.errors.some((error) => error.source === source))
    throw new ConflictError(`The ${source} source is not part of this query`);
  if (last !== undefined && isOpen(last)) throw new ConflictError(`The ${source} source is still running`);
  if (last?.status === 'completed') throw new ConflictError(`The ${source} source has completed`);
  const refused = await currentRefusal(
    tx,
    { ...query, purposeOfUse: await purposeOf(tx, requestId) },
    source,
  );
  if (refused !== undefined) throw new ConflictError(refused);
  return last?.attempt ?? 0;
}

/** Why the source may no longer be asked: since the query began, consents may exclude it, or the source been disabled. */
async function currentRefusal(
  tx: AccountTx,
  { patientId, purposeOfUse }: { patientId: string; purposeOfUse: 'treatment' | 'ias' },
  source: SourceType,
): Promise<string | undefined> {
  const [account, patient] = [await findAccount(tx, tx.accountId), await findPatient(tx, patientId)];
  if (account === undefined || patient === undefined) return 'The patient was deleted';
  const denied = await deniedSources(tx, patientId, purposeOfUse, [source]);
  return refusal(source, { account, patient }, denied)?.message;
}

const purposeOf = async (tx: AccountTx, requestId: string) =>
  (
    await tx.db
      .selectFrom('network_query')
      .select('purpose_of_use')
      .where('id', '=', requestId)
      .executeTakeFirstOrThrow()
  ).purpose_of_use;
