import { networkQueryEventType } from '../../contract/events.ts';
import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { readExternalId } from '../patients/patient-facts.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertEvent } from '../platform/outbox/event-store.ts';
import { forgetAnswered } from '../records/retirement-store.ts';
import { endAttempt } from './attempt-store.ts';
import { lockQuery, settleQuery } from './query-store.ts';
import { openAttemptsOfRun } from './recovery-store.ts';
import { tellRetired } from './retire-missing.ts';
import { addToTimeline } from './timeline-store.ts';

/**
 * The end of an attempt, the query's status that follows from it, and the event that announces it are one transaction.
 * Ending an ended attempt again does nothing.
 */
export async function completeAttempt(tx: AccountTx, step: SourceStepInput, note?: string): Promise<void> {
  const query = await lockQuery(tx, step.requestId);
  const ended = await endAttempt(tx, step, { status: 'completed', reason: note });
  if (query === undefined || ended === undefined) return;
  const { source, attempt } = step;
  const retired = await endAnswer(tx, step);
  const aside = ended.strays > 0 ? `, ${ended.strays} of other patients put aside` : '';
  const message =
    note ?? `Completed with ${ended.resources} resources and ${ended.documents} documents${aside}`;
  await addToTimeline(tx, step.requestId, { source, attempt, kind: 'completed', message });
  await settleAndAnnounce(tx, step, query, { status: 'completed', ...ended, retired });
}

export async function failAttempt(
  tx: AccountTx,
  step: SourceStepInput,
  failure: { reason: string; retryAfterMs?: number },
): Promise<void> {
  const query = await lockQuery(tx, step.requestId);
  const willRetry = failure.retryAfterMs !== undefined;
  const ended = await endAttempt(tx, step, { status: 'failed', reason: failure.reason, willRetry });
  if (query === undefined || ended === undefined) return;
  const retired = await endAnswer(tx, step);
  const { source, attempt } = step;
  const next = willRetry
    ? `; attempt ${attempt + 1} in ${Math.round((failure.retryAfterMs ?? 0) / 1000)} s`
    : '';
  await addToTimeline(tx, step.requestId, {
    source,
    attempt,
    kind: 'failed',
    message: `${failure.reason}${next}`,
  });
  if (willRetry) await settleQuery(tx, step.requestId);
  else await settleAndAnnounce(tx, step, query, { status: 'failed', ...ended, retired });
}

/** What a page retired is retired however the attempt ends. Returns how many resources. */
async function endAnswer(tx: AccountTx, step: SourceStepInput): Promise<number> {
  await forgetAnswered(tx, step);
  return tellRetired(tx, step);
}

/** Ends what is open of a run (of one source, or of all) that no workflow sees to any more. Returns how many. */
export async function failOpenAttempts(
  tx: AccountTx,
  of: { requestId: string; run: number },
  reason: string,
  source?: SourceType,
): Promise<number> {
  const open = (await openAttemptsOfRun(tx, of.requestId, of.run)).filter(
    (attempt) => source === undefined || attempt.source === source,
  );
  for (const attempt of open) {
    await failAttempt(tx, { accountId: tx.accountId, ...of, ...attempt }, { reason });
  }
  return open.length;
}

async function settleAndAnnounce(
  tx: AccountTx,
  step: SourceStepInput,
  query: { patient_id: string; metadata: Record<string, string> | null },
  { status, completedAt, retired }: { status: 'completed' | 'failed'; completedAt: Date; retired: number },
): Promise<void> {
  const overall = await settleQuery(tx, step.requestId);
  if (overall !== 'running')
    await addToTimeline(tx, step.requestId, { kind: 'query-ended', message: `Query ${overall}` });
  const type = networkQueryEventType(step.source);
  const externalId = await readExternalId(tx, query.patient_id);
  await insertEvent(tx, {
    type,
    factKey: `${type}/${step.requestId}/${step.attempt}`,
    patientId: query.patient_id,
    requestId: step.requestId,
    occurredAt: completedAt,
    body: {
      meta: {
        requestId: step.requestId,
        when: completedAt.toISOString(),
        type,
        data: query.metadata ?? undefined,
      },
      payload: {
        patientId: query.patient_id,
        externalId,
        source: {
          type: step.source,
          status,
          completedAt: completedAt.toISOString(),
          ...(retired > 0 ? { retired } : {}),
        },
      },
    },
  });
}

/** The first batch of hie data can be read ahead of the query's end; told once per query. */
export async function announceFirstData(tx: AccountTx, step: SourceStepInput): Promise<void> {
  const query = await lockQuery(tx, step.requestId);
  if (query === undefined) return;
  const now = new Date();
  const type = 'network-query.hie.first-data-ready';
  const eventId = await insertEvent(tx, {
    type,
    factKey: `${type}/${step.requestId}`,
    patientId: query.patient_id,
    requestId: step.requestId,
    occurredAt: now,
    body: {
      meta: { requestId: step.requestId, when: now.toISOString(), type, data: query.metadata ?? undefined },
      payload: {
        patientId: query.patient_id,
        externalId: await readExternalId(tx, query.patient_id),
        source: { type: 'hie', status: 'processing', firstDataReadyAt: now.toISOString() },
      },
    },
  });
  if (eventId !== undefined) {
    const { source, attempt } = step;
    await addToTimeline(tx, step.requestId, {
      source,
      attempt,
      kind: 'first-data-ready',
      message: 'First data can be read',
    });
  }
}
