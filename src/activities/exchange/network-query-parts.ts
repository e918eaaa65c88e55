import { ApplicationFailure } from '@temporalio/activity';
import {
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
} from '../../contract/network-query-steps.ts';
import type { Store } from '../../exchange/platform/database/database.ts';
import { restartPart } from '../../exchange/queries/network-query/ask-again.ts';
import type { AttemptWork, PartStep } from '../../exchange/queries/network-query/attempt-store.ts';
import {
  isTemporary,
  recordFailedCall,
  recordHold,
} from '../../exchange/queries/network-query/failed-calls.ts';
import { endPart, type Part, readParts } from '../../exchange/queries/network-query/part-store.ts';
import { completeParts, showWaiting } from '../../exchange/queries/network-query/parts.ts';
import {
  type EndedPart,
  noAnswerWithin,
  outcomeOfParts,
  partDeadlineMs,
  waitAfterFailedTries,
} from '../../exchange/queries/network-query/rules/part-outcome.ts';
import type { SourceConnections } from '../../exchange/sources/connections/connections.ts';
import { type SourceConnector, SourceFailure } from '../../exchange/sources/connectors/connector.ts';
import type { PurposeOfUse } from '../../exchange/sources/connectors/source-config.ts';
import type { CallSource, WorkOnSource } from './source-calls.ts';

interface PartsDeps {
  store: Pick<Store, 'asAccount'>;
  connections: SourceConnections;
  call: CallSource;
}

/** How long an open part need not be worked on; undefined when the workflow's policy decides. */
type Wait = { afterMs?: number; isShort?: boolean } | undefined;

/**
 * Works on all open parts of an attempt side by side, each from where its row says. A connection that fails is tried again
 * or ends as failed without disturbing the others. The attempt ends when all parts have ended; until then the step returns
 * how long to wait for the first of them.
 */
export async function workOnParts(
  deps: PartsDeps,
  step: SourceStepInput,
  attempt: AttemptWork,
  parts: readonly Part[],
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<SourceStep> {
  const { store } = deps;
  const now = Date.now();
  const isDue = ({ status, nextTryAt }: Part) =>
    status === 'running' && (nextTryAt === null || nextTryAt.getTime() <= now);
  const settled = await Promise.allSettled(
    parts.filter(isDue).map(async (part): Promise<[string, Wait]> => {
      return [part.id, await workOnPart(deps, step, attempt, part, work, signal)];
    }),
  );
  // Only failures of ours are left. The others have been recorded, so that nothing is repeated when the step is.
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
  const waits = new Map(settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));

  const current = await store.asAccount(step.accountId, (tx) => readParts(tx, step));
  const open = current.filter(({ status }) => status === 'running');
  if (open.length > 0) return waitFor(deps, step, open, waits);
  const outcome = outcomeOfParts(current.filter(hasEnded));
  if (outcome.status === 'failed')
    throw ApplicationFailure.nonRetryable(outcome.reason, SOURCE_FAILURE_TYPES.refused);
  const { note, gap } = outcome;
  const resources = await completeParts(store, step, attempt.patientId, { note, gap });
  return { state: 'completed', resources, note: gap ?? note };
}

const hasEnded = (part: Part): part is Part & EndedPart => part.status !== 'running';

async function workOnPart(
  deps: PartsDeps,
  step: SourceStepInput,
  attempt: AttemptWork,
  part: Part,
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<Wait> {
  const { accountId, source } = step;
  const partStep = { ...step, part: { id: part.id, name: part.name, namespace: part.namespace } };
  const { job, cursor, isCollected, pages, resources, failedCalls } = part;
  const connector = await deps.connections
    .connector(accountId, part.id, purposeOf(attempt))
    .catch(failureOnly);
  if (connector instanceof SourceFailure) return afterFailure(deps, partStep, part, connector);
  const isOver = Date.now() - attempt.startedAt.getTime() >= partDeadlineMs(source);
  const giveUp = async (lastFailure?: string) => {
    await cancelPart(connector, part);
    const why = lastFailure === undefined ? '' : `; the last call failed: ${lastFailure}`;
    return afterFailure(deps, partStep, part, new SourceFailure('refused', noAnswerWithin(source) + why));
  };
  // What has accepted the request may have its answer ready, if only we were away: it is looked at once more.
  if (isOver && job === null && cursor === null && !isCollected) return giveUp();
  const ofPart = { ...attempt, job, cursor, isCollected, pages, resources, failedCalls };
  const called = await deps.call(partStep, ofPart, connector, work, signal);
  if (isOver && called.kind === 'held') return giveUp(called.reason);
  if (isOver && called.kind === 'done' && called.result.state === 'waiting') return giveUp();
  if (isOver && called.kind === 'failed' && isTemporary(called.failure.kind)) {
    const wait = await afterFailure(deps, partStep, part, called.failure);
    return wait?.isShort === true ? wait : giveUp(called.failure.message);
  }
  switch (called.kind) {
    case 'done':
      return called.result.state === 'waiting' ? { afterMs: called.result.retryAfterMs } : undefined;
    case 'held':
      await deps.store.asAccount(accountId, (tx) => recordHold(tx, partStep, called));
      return undefined;
    case 'failed':
      return afterFailure(deps, partStep, part, called.failure);
  }
}

function failureOnly(error: unknown): SourceFailure {
  if (error instanceof SourceFailure) return error;
  throw error;
}

export const purposeOf = ({ accessEndsAt }: AttemptWork): PurposeOfUse =>
  accessEndsAt === undefined ? 'treatment' : 'ias';

const CANCEL_TIMEOUT_MS = 5_000;

/** Cancels the job of a part, as a courtesy to the source: whether it accepts that does not matter. */
async function cancelPart(connector: SourceConnector, { job }: Pick<Part, 'job'>): Promise<void> {
  if (job !== null)
    await connector.cancel(job, AbortSignal.timeout(CANCEL_TIMEOUT_MS)).catch(() => undefined);
}

/** Cancels the jobs of all open parts of an attempt that was ended from outside. */
export async function cancelParts(
  { store, connections }: Pick<PartsDeps, 'store' | 'connections'>,
  step: SourceStepInput,
  attempt: AttemptWork,
): Promise<void> {
  const parts = await store.asAccount(step.accountId, (tx) => readParts(tx, step));
  const purpose = purposeOf(attempt);
  await Promise.allSettled(
    parts
      .filter(({ status, job }) => status === 'running' && job !== null)
      .map(async (part) => cancelPart(await connections.connector(step.accountId, part.id, purpose), part)),
  );
}

/** Records a connection's failure: it is called again, asked again after a while, or ends as failed. */
async function afterFailure(
  { store }: PartsDeps,
  step: PartStep,
  part: Part,
  failure: SourceFailure,
): Promise<Wait> {
  const { kind, message: reason } = failure;
  return store.asAccount(step.accountId, async (tx): Promise<Wait> => {
    if (isTemporary(kind)) {
      const next = await recordFailedCall(tx, step, failure);
      return next === undefined ? undefined : { afterMs: next.waitMs, isShort: next.nextTryAt === undefined };
    }
    const afterMs = kind === 'refused' ? undefined : waitAfterFailedTries(step.source, part.failedTries);
    if (afterMs === undefined) await endPart(tx, step, part, { status: 'failed', reason });
    else await restartPart(tx, step, part, { reason, afterMs });
    return undefined;
  });
}

async function waitFor(
  { store }: PartsDeps,
  step: SourceStepInput,
  open: readonly Part[],
  waits: ReadonlyMap<string, Wait>,
): Promise<SourceStep> {
  const short = open.flatMap(({ id }) =>
    waits.get(id)?.isShort === true ? (waits.get(id)?.afterMs ?? []) : [],
  );
  // The activity itself is repeated; the other parts are not disturbed, because their rows say how far they are.
  if (short.length > 0)
    throw ApplicationFailure.create({
      message: 'A connection is called again',
      type: SOURCE_FAILURE_TYPES.transport,
      nextRetryDelay: Math.min(...short),
    });
  const held = open.flatMap(({ name, waitingFor, nextTryAt }) =>
    nextTryAt === null ? [] : [{ reason: `${name}: ${waitingFor ?? 'waiting'}`, nextTryAt }],
  );
  const heldMs = held.map(({ nextTryAt }) => Math.max(nextTryAt.getTime() - Date.now(), 1_000));
  const askedMs = open.flatMap(({ id }) => waits.get(id)?.afterMs ?? []);
  const retryAfterMs = Math.min(...heldMs, ...askedMs);
  if (held.length < open.length) {
    await showWaiting(store, step, undefined);
    return { state: 'waiting', retryAfterMs: Number.isFinite(retryAfterMs) ? retryAfterMs : undefined };
  }
  const nextTryAt = new Date(Date.now() + retryAfterMs);
  const reason = held.map((each) => each.reason).join('; ');
  await showWaiting(store, step, { reason, nextTryAt });
  return { state: 'waiting', retryAfterMs, held: { reason, nextTryAt: nextTryAt.toISOString() } };
}
