import { sql } from 'kysely';
import {
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
  type WaitingStep,
} from '../../../contract/network-query-workflow.ts';
import { createTurns } from '../../../lib/turns.ts';
import type { Store } from '../../platform/database/database.ts';
import {
  ProcessEndedTooOften,
  type StartGuard,
} from '../../platform/recovery/start-guard.ts';
import {
  type AskedConnection,
  connectorFor,
  type DefaultConnection,
  defaultConnection,
} from '../../sources/connections/connections.ts';
import {
  type SourceConnector,
  SourceFailure,
} from '../../sources/connectors/connector.ts';
import {
  type Hold,
  type SourceHealth,
  watchConnector,
} from '../../sources/health/source-health.ts';
import { CANCEL_TIMEOUT_MS } from './abandoned-jobs.ts';
import { type Asking, askSource } from './ask.ts';
import {
  type AttemptWork,
  connectionKey,
  type PartStep,
  partKey,
  purposeOf,
  type SourceWork,
  updateAttempt,
} from './attempt-store.ts';
import { endOfParts } from './endings.ts';
import {
  isTemporary,
  recordFailedCall,
  recordHold,
  restartPart,
} from './failed-calls.ts';
import { askGateways } from './fan-out/ask-gateways.ts';
import { countAsks, readSilentGateways } from './fan-out/ask-store.ts';
import type { CallingGateways } from './fan-out/calling-gateways.ts';
import { openGateways } from './fan-out/open-gateways.ts';
import {
  type AttemptPart,
  endPart,
  insertParts,
  isWhole,
  type Progress,
  readAttemptParts,
} from './part-store.ts';
import { idleWaitMs, outcomeOfGateways } from './rules/gateway-outcome.ts';
import { type EndedPart, outcomeOfParts } from './rules/query-status.ts';
import {
  AFTER_FAILURE,
  noAnswerText,
  PAUSED_MAX_MS,
  partDeadlineMs,
  waitAfterFailedTries,
} from './rules/retries.ts';
import { AttemptSuperseded, StepFailed, StepGoesOn } from './step-errors.ts';
import { createTimeBox } from './time-box.ts';
import { addOfStep } from './timeline-store.ts';

type AskedPart = AskedConnection & Progress;
type WholePart = DefaultConnection & Progress;

/**
 * The part of the default connection, as the attempt's row has it. The workflow
 * decides when it is due.
 */
const wholePart = (
  source: SourceStepInput['source'],
  attempt: AttemptWork,
): WholePart => {
  const {
    status,
    reason,
    job,
    cursor,
    isCollected,
    pages,
    resources,
    failedCalls,
  } = attempt;
  const progress = {
    status,
    reason,
    job,
    cursor,
    isCollected,
    pages,
    resources,
    failedCalls,
  };
  return {
    ...defaultConnection(source),
    ...progress,
    failedTries: 0,
    pausedMs: 0,
    waitingFor: null,
    nextTryAt: null,
  };
};

/** The step on the attempt as a whole. */
export const wholeStep = (step: SourceStepInput): PartStep => ({
  ...step,
  part: defaultConnection(step.source),
});

/**
 * The parts of an attempt: one for each connection that the account has for
 * this source when the attempt begins, or that of the default connection. None
 * when none of its connections may be asked. What an attempt has begun with, it
 * goes on with.
 */
async function openParts(
  { store, connections }: CallingSources,
  step: SourceStepInput,
  attempt: AttemptWork,
): Promise<OpenParts> {
  const whole = {
    parts: [wholePart(step.source, attempt)],
    asksGateways: false,
  };
  if (connections === undefined || !attempt.mayHaveParts) return whole;
  return store.asAccount(step.accountId, async (tx) => {
    const opened = await readAttemptParts(tx, step);
    const isChosen = attempt.gatewaysChosenAt !== null;
    if (opened.length > 0 || isChosen)
      return { parts: opened, asksGateways: isChosen };
    if (attempt.job !== null || attempt.cursor !== null || attempt.pages > 0)
      return whole;
    const toAsk = await connections.toAsk(tx, step.source, attempt.facilityIds);
    if (toAsk === undefined) return whole;
    await insertParts(tx, step, toAsk);
    const { patientId, demographics, facilityIds } = attempt;
    const asksGateways = await openGateways(tx, step, {
      id: patientId,
      addresses: demographics.addresses,
      facilityIds,
    });
    return { parts: await readAttemptParts(tx, step), asksGateways };
  });
}

interface OpenParts {
  parts: readonly AskedPart[];
  /** The gateways of networks are asked as well. */
  asksGateways: boolean;
}

/** Works on all open parts of an attempt, each from where its row says. */
export async function workOnParts(
  deps: CallingSources,
  step: SourceStepInput,
  attempt: AttemptWork,
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<SourceStep> {
  const { parts, asksGateways } = await openParts(deps, step, attempt);
  const own = parts.filter(isOwn);
  if (asksGateways)
    return workOnGateways(deps, step, attempt, own, work, signal);
  const [part] = parts;
  if (part === undefined) {
    const reason = `No connection to the ${step.source} source is enabled for this patient's facilities`;
    return afterFailedCall(
      deps,
      wholeStep(step),
      new SourceFailure('refused', reason),
    );
  }
  return isWhole(part)
    ? workOnWhole(deps, wholeStep(step), attempt, work, signal)
    : workBesideOthers(deps, step, attempt, own, work, signal);
}

const isOwn = (part: AskedPart): part is AttemptPart => !isWhole(part);

/**
 * Works on the part of the default connection. Its wait and its failure are the
 * step's: the workflow tries again.
 */
async function workOnWhole(
  deps: CallingSources,
  step: PartStep,
  attempt: AttemptWork,
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<SourceStep> {
  const connector = await connectorOf(deps, step, attempt, step.part);
  const called = await callSource(
    deps,
    { step, work: attempt, connector, signal },
    work,
  );
  switch (called.kind) {
    case 'done':
      return called.result;
    case 'failed':
      return afterFailedCall(deps, step, called.failure);
    case 'held': {
      const recorded = await deps.store.asAccount(step.accountId, (tx) =>
        recordHold(tx, step, called),
      );
      if (recorded === undefined)
        throw new AttemptSuperseded('The attempt was ended while it waited');
      const { nextTryAt, pausedMs } = recorded;
      const held = {
        reason: called.reason,
        nextTryAt: nextTryAt.toISOString(),
      };
      return { state: 'waiting', retryAfterMs: called.waitMs, held, pausedMs };
    }
  }
}

/**
 * Records a failed call of the attempt. Returns the wait for the source, or
 * throws the failure that the workflow expects.
 */
export async function afterFailedCall(
  { store }: Pick<CallingSources, 'store'>,
  step: PartStep,
  failure: SourceFailure,
): Promise<SourceStep> {
  const next = await store.asAccount(step.accountId, (tx) =>
    recordFailedCall(tx, step, failure),
  );
  const { kind, message } = failure;
  if (next?.nextTryAt === undefined)
    throw new StepFailed(AFTER_FAILURE[kind].type, message, next?.waitMs);
  const held = { reason: message, nextTryAt: next.nextTryAt.toISOString() };
  return { state: 'waiting', retryAfterMs: next.waitMs, held };
}

/**
 * How long an open part need not be worked on; undefined when the workflow's
 * polls decide.
 */
type Wait =
  | { afterMs?: number; isShort?: boolean; isReady?: boolean }
  | undefined;

/**
 * Works on the parts of the account's own connections side by side. A
 * connection that fails is tried again or ends as failed without disturbing the
 * others. The attempt ends when all parts have ended; until then the step
 * returns how long to wait for the first of them.
 */
async function workBesideOthers(
  deps: CallingSources,
  step: SourceStepInput,
  attempt: AttemptWork,
  parts: readonly AttemptPart[],
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<SourceStep> {
  const { store } = deps;
  const waits = await workOnDueParts(parts, (part) =>
    workOnPart(deps, step, attempt, part, work, signal),
  );

  const current = await store.asAccount(step.accountId, (tx) =>
    readAttemptParts(tx, step),
  );
  const open = current.filter(isRunning);
  if (open.some(({ id }) => waits.get(id)?.isReady === true))
    return { state: 'ready' };
  if (open.length > 0) {
    const wait = await waitFor(store, step, open, waits);
    const isFewer = open.length < parts.filter(isRunning).length;
    return isFewer ? { ...wait, hasEndedPart: true } : wait;
  }
  const outcome = outcomeOfParts(current.filter(hasEnded));
  if (outcome.status === 'failed')
    throw new StepFailed(SOURCE_FAILURE_TYPES.refused, outcome.reason);
  const { note, gap } = outcome;
  await store.asAccount(step.accountId, (tx) =>
    endOfParts(tx, step, attempt.patientId, { note, gap }),
  );
  const resources = current.reduce((sum, part) => sum + part.resources, 0);
  return { state: 'completed', resources, note: gap ?? note };
}

/**
 * Works on the gateways of networks, and on all parts: those of the account's
 * other connections, and of gateways that have found the patient. The question
 * only chooses the gateways: they are asked in a queue of their own.
 */
async function workOnGateways(
  deps: CallingSources,
  step: SourceStepInput,
  attempt: AttemptWork,
  parts: readonly AttemptPart[],
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<SourceStep> {
  const { store, connections } = deps;
  if (work === askSource) return { state: 'ready', asksGateways: true };
  if (connections === undefined)
    throw new Error('This process has no connections of accounts');

  const { waits, hasGatewayEnded } = await askAndCollect(
    { ...deps, connections },
    step,
    attempt,
    parts,
    { work, signal },
  );
  const { current, asks } = await store.asAccount(
    step.accountId,
    async (tx) => ({
      current: await readAttemptParts(tx, step),
      asks: await countAsks(tx, step),
    }),
  );
  const open = current.filter(isRunning);
  const isReady = open.some(({ id }) => waits.get(id)?.isReady === true);
  if (isReady) return { state: 'ready', asksGateways: true };
  const dueMs = asks.nextDueMs ?? Number.POSITIVE_INFINITY;
  if (asks.waiting > 0 && dueMs <= 0) throw new StepGoesOn(step.source);
  if (asks.waiting + open.length === 0)
    return endOfGateways(deps, step, attempt, current, asks);

  const elapsedMs = Date.now() - attempt.startedAt.getTime();
  const idleMs = asks.waiting > 0 ? idleWaitMs(elapsedMs) : dueMs;
  const wait =
    open.length > 0
      ? await waitFor(store, step, open, waits)
      : { state: 'waiting' as const };
  const { held, retryAfterMs = Number.POSITIVE_INFINITY, ...rest } = wait;
  const hasProgressed =
    hasGatewayEnded || open.length < parts.filter(isRunning).length;
  return {
    ...rest,
    // What is held is one of many, unless nothing else is awaited.
    ...(held === undefined || asks.waiting > 0 ? {} : { held }),
    retryAfterMs: finite(Math.min(retryAfterMs, dueMs, idleMs)),
    asksGateways: true,
    ...(hasProgressed ? { hasEndedPart: true } : {}),
  };
}

/**
 * Asks the gateways that are due, and works on the parts beside, those of
 * gateways that have just found the patient among them.
 * @throws StepGoesOn when the time of the step is over before all had their turn
 */
async function askAndCollect(
  deps: CallingSources & CallingGateways,
  step: SourceStepInput,
  attempt: AttemptWork,
  parts: readonly AttemptPart[],
  { work, signal }: { work: WorkOnSource; signal: AbortSignal },
): Promise<{ waits: ReadonlyMap<string, Wait>; hasGatewayEnded: boolean }> {
  const waits = new Map<string, Wait>();
  const turns = createTurns(PARTS_AT_ONCE);
  const { isOver } = createTimeBox(deps.clock);
  // The time of the step begins.
  let isLeft = isOver();
  const workOn = (part: AttemptPart) =>
    turns(async () => {
      isLeft ||= isOver();
      if (isLeft) return;
      const wait = await workOnPart(deps, step, attempt, part, work, signal);
      waits.set(part.id, wait);
    });
  const [asked, ofParts] = await Promise.allSettled([
    askGateways(deps, step, attempt, {
      workOnFound: workOn,
      signal,
    }),
    workOnDueParts(parts, async (part) => {
      await workOn(part);
      return waits.get(part.id);
    }),
  ]);
  if (asked.status === 'rejected') throw asked.reason;
  if (ofParts.status === 'rejected') throw ofParts.reason;
  if (isLeft) throw new StepGoesOn(step.source);
  return { waits, hasGatewayEnded: asked.value.hasProgressed };
}

const finite = (ms: number): number | undefined =>
  Number.isFinite(ms) ? Math.ceil(ms) : undefined;

/** Found gateways whose documents are collected at a time, of one step. */
const PARTS_AT_ONCE = 8;

async function endOfGateways(
  { store }: CallingSources,
  step: SourceStepInput,
  { patientId }: AttemptWork,
  parts: readonly AttemptPart[],
  asks: Awaited<ReturnType<typeof countAsks>>,
): Promise<SourceStep> {
  const silent = await store.asAccount(step.accountId, (tx) =>
    readSilentGateways(tx, step),
  );
  const outcome = outcomeOfGateways(parts.filter(hasEnded), asks, silent);
  if (outcome.status === 'failed')
    throw new StepFailed(SOURCE_FAILURE_TYPES.refused, outcome.reason);
  const { note, gap } = outcome;
  await store.asAccount(step.accountId, async (tx) => {
    await addOfStep(tx, step, {
      kind: 'gateways-asked',
      message: `${asks.asked} gateways asked: ${asks.found} found the patient, ${asks.nobody} do not know the patient, ${asks.failed} could not be asked`,
      onceKey: `gateways-asked/${step.source}/${step.attempt}`,
    });
    await endOfParts(tx, step, patientId, { note, gap });
  });
  const resources = parts.reduce((sum, part) => sum + part.resources, 0);
  return { state: 'completed', resources, note: gap ?? note };
}

/** Returns how long each part that was due need not be worked on, by its id. */
async function workOnDueParts(
  parts: readonly AttemptPart[],
  workOn: (part: AttemptPart) => Promise<Wait>,
): Promise<ReadonlyMap<string, Wait>> {
  const now = Date.now();
  const due = parts.filter(
    (part) =>
      isRunning(part) &&
      (part.nextTryAt === null || part.nextTryAt.getTime() <= now),
  );
  const waits = new Map<string, Wait>();
  const settled = await Promise.allSettled(
    due.map(async (part) => waits.set(part.id, await workOn(part))),
  );
  // Only failures of ours are left. The others have been recorded, so that
  // nothing is repeated when the step is.
  for (const result of settled)
    if (result.status === 'rejected') throw result.reason;
  return waits;
}

const isRunning = ({ status }: AttemptPart): boolean => status === 'running';

const hasEnded = (part: AttemptPart): part is AttemptPart & EndedPart =>
  !isRunning(part);

function waitOf(result: SourceStep): Wait {
  if (result.state === 'completed') return undefined;
  if (result.state === 'ready') return { isReady: true };
  return { afterMs: result.retryAfterMs };
}

async function workOnPart(
  deps: CallingSources,
  step: SourceStepInput,
  attempt: AttemptWork,
  part: AttemptPart,
  work: WorkOnSource,
  signal: AbortSignal,
): Promise<Wait> {
  const { store } = deps;
  const { accountId, source } = step;
  const partStep = {
    ...step,
    part: { id: part.id, name: part.name, namespace: part.namespace },
  };
  const { job, cursor, isCollected, pages, resources, failedCalls } = part;
  const connector = await connectorOf(deps, step, attempt, part).catch(
    (error: unknown) => {
      if (error instanceof SourceFailure) return error;
      throw error;
    },
  );
  if (connector instanceof SourceFailure)
    return afterFailure(store, partStep, part, connector);
  const elapsedMs =
    Date.now() -
    attempt.startedAt.getTime() -
    Math.min(part.pausedMs, PAUSED_MAX_MS);
  const isOver = elapsedMs >= partDeadlineMs(source);
  const giveUp = async (lastFailure?: string) => {
    await cancelPart(deps, connector, part);
    const why =
      lastFailure === undefined ? '' : `; the last call failed: ${lastFailure}`;
    return afterFailure(
      store,
      partStep,
      part,
      new SourceFailure('refused', noAnswerText(source) + why),
    );
  };
  // What has accepted the request may have its answer ready, if only we were
  // away: it is looked at once more.
  if (isOver && job === null && cursor === null && !isCollected)
    return giveUp();
  const ofPart = {
    ...attempt,
    job,
    cursor,
    isCollected,
    pages,
    resources,
    failedCalls,
  };
  const called = await callSource(
    deps,
    { step: partStep, work: ofPart, connector, signal },
    work,
  );
  switch (called.kind) {
    case 'done':
      return called.result.state === 'waiting' && isOver
        ? giveUp()
        : waitOf(called.result);
    case 'held':
      if (isOver && !(called.isPaused && part.pausedMs < PAUSED_MAX_MS))
        return giveUp(called.reason);
      await store.asAccount(accountId, (tx) =>
        recordHold(tx, partStep, called),
      );
      return undefined;
    case 'failed': {
      const wait = await afterFailure(store, partStep, part, called.failure);
      const isLast =
        isOver && isTemporary(called.failure) && wait?.isShort !== true;
      return isLast ? giveUp(called.failure.message) : wait;
    }
  }
}

const connectorOf = (
  deps: CallingSources,
  { accountId, source }: SourceStepInput,
  attempt: AttemptWork,
  { id }: AskedConnection,
): Promise<SourceConnector> =>
  connectorFor(deps, {
    accountId,
    source,
    connectionId: id,
    purpose: purposeOf(attempt),
  });

/**
 * Cancels the jobs of all open parts of an attempt that was ended from outside,
 * as a courtesy to their sources.
 */
export async function cancelParts(
  deps: CallingSources,
  step: SourceStepInput,
  attempt: AttemptWork,
): Promise<void> {
  const parts = await deps.store.asAccount(step.accountId, (tx) =>
    readAttemptParts(tx, step),
  );
  await Promise.allSettled(
    [wholePart(step.source, attempt), ...parts]
      .filter(({ status, job }) => status === 'running' && job !== null)
      .map(async (part) =>
        cancelPart(deps, await connectorOf(deps, step, attempt, part), part),
      ),
  );
}

async function cancelPart(
  { noteUncancelled }: Pick<CallingSources, 'noteUncancelled'>,
  connector: SourceConnector,
  { job }: Pick<Progress, 'job'>,
): Promise<void> {
  if (job !== null)
    await connector
      .cancel(job, AbortSignal.timeout(CANCEL_TIMEOUT_MS))
      .catch(noteUncancelled);
}

/**
 * Records a connection's failure: it is called again, asked again after a
 * while, or ends as failed.
 */
async function afterFailure(
  store: Pick<Store, 'asAccount'>,
  step: PartStep,
  part: AttemptPart,
  failure: SourceFailure,
): Promise<Wait> {
  const { kind, message: reason } = failure;
  return store.asAccount(step.accountId, async (tx): Promise<Wait> => {
    if (isTemporary(failure)) {
      const next = await recordFailedCall(tx, step, failure);
      return next === undefined
        ? undefined
        : { afterMs: next.waitMs, isShort: next.nextTryAt === undefined };
    }
    const isGivenUp = AFTER_FAILURE[kind].next === 'give-up';
    const afterMs = isGivenUp
      ? undefined
      : waitAfterFailedTries(step.source, part.failedTries);
    if (afterMs === undefined)
      await endPart(tx, step, part, { status: 'failed', reason });
    else await restartPart(tx, step, part, { reason, afterMs });
    return undefined;
  });
}

async function waitFor(
  store: Pick<Store, 'asAccount'>,
  step: SourceStepInput,
  open: readonly AttemptPart[],
  waits: ReadonlyMap<string, Wait>,
): Promise<WaitingStep> {
  const short = open.flatMap(({ id }) =>
    waits.get(id)?.isShort === true ? (waits.get(id)?.afterMs ?? []) : [],
  );
  // The activity itself is repeated; the other parts are not disturbed, because
  // their rows say how far they are.
  if (short.length > 0)
    throw new StepFailed(
      SOURCE_FAILURE_TYPES.transport,
      'A connection is called again',
      Math.min(...short),
    );
  const held = open.flatMap(({ name, waitingFor, nextTryAt }) =>
    nextTryAt === null
      ? []
      : [{ reason: `${name}: ${waitingFor ?? 'waiting'}`, nextTryAt }],
  );
  const heldMs = held.map(({ nextTryAt }) =>
    Math.max(nextTryAt.getTime() - Date.now(), 1_000),
  );
  const askedMs = open.flatMap(({ id }) => waits.get(id)?.afterMs ?? []);
  const retryAfterMs = Math.min(...heldMs, ...askedMs);
  const pausedMs = Math.max(...open.map((part) => part.pausedMs)) || undefined;
  if (held.length < open.length) {
    await showWaiting(store, step, undefined);
    const shownMs = Number.isFinite(retryAfterMs) ? retryAfterMs : undefined;
    return { state: 'waiting', retryAfterMs: shownMs, pausedMs };
  }
  const nextTryAt = new Date(Date.now() + retryAfterMs);
  const reason = held.map((each) => each.reason).join('; ');
  await showWaiting(store, step, { reason, nextTryAt });
  return {
    state: 'waiting',
    retryAfterMs,
    held: { reason, nextTryAt: nextTryAt.toISOString() },
    pausedMs,
  };
}

/**
 * Shows callers that every open part waits for its connection, or that this is
 * no longer so.
 */
async function showWaiting(
  store: Pick<Store, 'asAccount'>,
  step: SourceStepInput,
  waiting: { reason: string; nextTryAt: Date } | undefined,
): Promise<void> {
  await store.asAccount(step.accountId, (tx) =>
    updateAttempt(tx, step)
      .set(({ fn }) => ({
        waiting_for: waiting?.reason ?? null,
        next_try_at: waiting?.nextTryAt ?? null,
        failing_since:
          waiting === undefined
            ? null
            : fn.coalesce('failing_since', sql<Date>`clock_timestamp()`),
      }))
      .where('status', '=', 'running')
      .execute(),
  );
}

/** Asks a source, or collects its answer, as far as it is available. */
export type WorkOnSource = (
  deps: Asking,
  on: SourceWork,
) => Promise<SourceStep>;

export interface CallingSources extends Asking {
  startGuard: StartGuard;
  sourceHealth: SourceHealth;
}

/**
 * What became of the work: a result, a wait because no query may call the
 * source now, or the source's failure.
 */
type Called =
  | { kind: 'done'; result: SourceStep }
  | ({ kind: 'held' } & Hold)
  | { kind: 'failed'; failure: SourceFailure };

/**
 * Runs work on one connection to a source, unless its breaker holds it, or this
 * work has ended its process too often. Reports to the breaker how the source
 * answered. Throws only errors that are not the source's.
 */
async function callSource(
  deps: CallingSources,
  on: SourceWork,
  run: WorkOnSource,
): Promise<Called> {
  const { sourceHealth, startGuard } = deps;
  const { step, work, signal } = on;
  const connection = connectionKey(step);
  // What is collected completely needs no call.
  if (!work.isCollected) {
    const waitMs = on.connector.waitToBeginMs?.() ?? 0;
    if (waitMs > 0)
      return { kind: 'held', reason: BUDGET_USED, waitMs, isPaused: false };
    const admitted = await sourceHealth.admit(connection);
    if (!admitted.mayCall) return { kind: 'held', ...admitted };
  }
  const connector = watchConnector(on.connector, () =>
    sourceHealth.answered(connection),
  );
  const { accountId, source } = step;
  const counted = {
    accountId,
    name: `source/${step.requestId}/${partKey(step)}`,
    progress: `${work.job === null ? 'asking' : 'accepted'}/${work.pages}`,
  };
  try {
    const result = await startGuard.run(counted, signal, () =>
      run(deps, { ...on, connector }),
    );
    return { kind: 'done', result };
  } catch (error) {
    const failure =
      error instanceof ProcessEndedTooOften
        ? new SourceFailure(
            'refused',
            `${source} is not queried again: ${error.message}`,
            { cause: error },
          )
        : error;
    if (!(failure instanceof SourceFailure) || signal.aborted) throw failure;
    if (AFTER_FAILURE[failure.kind].isOutage)
      await sourceHealth.failed(connection, {
        attempt: attemptOf(step),
        reason: failure.message,
      });
    else await sourceHealth.answered(connection);
    return { kind: 'failed', failure };
  }
}

const BUDGET_USED = 'the calls it allows us are used up for now';

const attemptOf = ({ requestId, source, attempt }: PartStep): string =>
  `${requestId}/${source}/${attempt}`;
