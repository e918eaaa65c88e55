import { ApplicationFailure, log } from '@temporalio/activity';
import {
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
} from '../../contract/network-query-steps.ts';
import type { SourceType } from '../../contract/primitives.ts';
import type { Store } from '../../exchange/platform/database/database.ts';
import { isRefusedData } from '../../exchange/platform/database/violations.ts';
import type { StartGuard } from '../../exchange/platform/recovery/start-guard.ts';
import { keepSurplusJob } from '../../exchange/queries/network-query/abandoned-job-store.ts';
import {
  askForEverything,
  isNotEnough,
  type NotEnough,
} from '../../exchange/queries/network-query/ask-again.ts';
import {
  type AttemptWork,
  keepJob,
  type PartStep,
  saveJob,
} from '../../exchange/queries/network-query/attempt-store.ts';
import {
  callbackHash,
  callbackToken,
  provenToken,
} from '../../exchange/queries/network-query/callback-token.ts';
import { cancelJobsOf } from '../../exchange/queries/network-query/cancel-jobs.ts';
import {
  AttemptSuperseded,
  collectPages,
  completeCollected,
} from '../../exchange/queries/network-query/collect.ts';
import { beginCollection } from '../../exchange/queries/network-query/collection-store.ts';
import { CountsDiffer } from '../../exchange/queries/network-query/compare-counts.ts';
import { checkAccess, consentWithdrawn } from '../../exchange/queries/network-query/consent-check.ts';
import { completeAttempt } from '../../exchange/queries/network-query/endings.ts';
import {
  clearFailedCalls,
  recordFailedCall,
  recordHold,
} from '../../exchange/queries/network-query/failed-calls.ts';
import { recordNotice } from '../../exchange/queries/network-query/omissions.ts';
import { openAttempt } from '../../exchange/queries/network-query/open-attempt.ts';
import { endPart } from '../../exchange/queries/network-query/part-store.ts';
import { openParts } from '../../exchange/queries/network-query/parts.ts';
import { UNKNOWN_PATIENT } from '../../exchange/queries/network-query/rules/part-outcome.ts';
import type { Collection } from '../../exchange/queries/network-query/tables.ts';
import { whatToAsk } from '../../exchange/queries/network-query/what-to-ask.ts';
import type { RecordKeeper } from '../../exchange/records/record-keeper.ts';
import type { SourceConnections } from '../../exchange/sources/connections/connections.ts';
import { createChangeChecks } from '../../exchange/sources/connectors/change-check-store.ts';
import {
  type Begin,
  NOT_TRUSTED,
  type SourceConnector,
  SourceFailure,
  type SourcePage,
} from '../../exchange/sources/connectors/connector.ts';
import type { SourceHealth } from '../../exchange/sources/health/source-health.ts';
import { withinGrace } from '../../lib/within-grace.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import { withHeartbeat } from './heartbeat.ts';
import { cancelParts, purposeOf, workOnParts } from './network-query-parts.ts';
import { createSourceCalls, type WorkOnSource } from './source-calls.ts';
import { describeFailure, toApplicationFailure } from './source-step-failures.ts';

export interface SourceActivityDeps {
  store: Store;
  blobs: BlobStore;
  records: RecordKeeper;
  connectors: Record<SourceType, SourceConnector>;
  /** Connections of accounts that have their own. Default: `connectors` serve every account. */
  connections?: SourceConnections;
  /** Base URL for a source's callbacks, without the token; undefined for a source that is only polled. */
  callbackBaseUrl: (source: SourceType, connectionId?: string) => string | undefined;
  callbackKey: string;
  startGuard: StartGuard;
  sourceHealth: SourceHealth;
  /** For tests. Default: the system clock. */
  clock?: () => Date;
}

export type SourceActivities = ReturnType<typeof createSourceActivities>;

/** A third of the heartbeat timeout. Each heartbeat is an action that Temporal Cloud bills; a collection may take half an hour. */
const HEARTBEAT_EVERY_MS = 10_000;
/** How long to wait for a source to acknowledge a cancellation, which is only a courtesy to it. */
const CANCEL_TIMEOUT_MS = 5_000;
/** How long a cancelled step waits for the source to name the job that its request has started; after that, it ends without. */
const JOB_AWAITED_MS = 5_000;

/**
 * The steps on a source. Each reads from PostgreSQL how far the attempt has progressed and continues from there, so each
 * may run twice. Failures have one of the `SOURCE_FAILURE_TYPES`. Failed calls are counted in the attempt's row, so that
 * failures on our side, which Temporal counts as well, never use them up; they are recorded in the query's timeline. After
 * a few of them the step returns, and the workflow waits before it calls the source again.
 */
export function createSourceActivities(deps: SourceActivityDeps) {
  const { store } = deps;
  const call = createSourceCalls(deps);
  const checks = createChangeChecks(store);
  const tokenOf = ({ requestId, source, attempt }: SourceStepInput) =>
    callbackToken(deps.callbackKey, requestId, source, attempt);

  const ask: WorkOnSource = async (step, work, connector, signal) => {
    const token = step.part === undefined ? tokenOf(step) : provenToken(deps.callbackKey, tokenOf(step));
    if (work.isCollected) return complete(step, work, connector, signal);
    if (work.cursor !== null)
      return collect(step, work, connector, connector.resume(work.cursor, signal), signal);
    if (work.job !== null) return { state: 'waiting' };

    checkAccess(work, deps.clock?.() ?? new Date());
    const base = deps.callbackBaseUrl(step.source, step.part?.id);
    const callbackUrl = base === undefined ? undefined : `${base}/${token}`;
    const now = deps.clock?.() ?? new Date();
    const beginning = await whatToAsk({ store, checks, now }, step, work, connector);
    const options = { callbackUrl, realtime: work.realtime, changes: beginning.changes };
    const begun = await withinGrace(connector.begin(work.demographics, options, signal), {
      ...{ signal, graceMs: JOB_AWAITED_MS },
      late: (late) => void cancelLate(step, work, late).catch(noteUncancelled),
    });
    const { notice } = begun;
    if (notice !== undefined) await store.asAccount(step.accountId, (tx) => recordNotice(tx, step, notice));
    if (begun.kind !== 'unknown-patient') await beginning.noteChecked(begun.checked);
    switch (begun.kind) {
      case 'unknown-patient': {
        const { part } = step;
        await store.asAccount(step.accountId, (tx) =>
          part === undefined
            ? completeAttempt(tx, step, { note: UNKNOWN_PATIENT })
            : endPart(tx, step, part, { status: 'completed', reason: UNKNOWN_PATIENT }),
        );
        return { state: 'completed', resources: 0, note: UNKNOWN_PATIENT };
      }
      case 'ready': {
        const collection = beginning.collection(begun);
        if (collection?.since === undefined)
          return collect(step, work, connector, begun.pages, signal, collection);
        // Before the first page: should that page not be one of changes, the source is asked again, and for everything.
        await store.asAccount(step.accountId, (tx) => beginCollection(tx, step, work.patientId, collection));
        return collect(step, work, connector, begun.pages, signal);
      }
      case 'accepted': {
        const collection = beginning.collection(begun);
        const isKept = await store.asAccount(step.accountId, async (tx) => {
          const kept = await keepJob(tx, step, begun.job);
          if (!kept) await keepSurplusJob(tx, step, { purpose: purposeOf(work), job: begun.job });
          else if (collection !== undefined) await beginCollection(tx, step, work.patientId, collection);
          return kept;
        });
        // Another execution of this step was faster, or the attempt was given up: this job would never be collected.
        if (!isKept) await cancelJobsOf(deps, step);
        return { state: 'waiting', retryAfterMs: begun.retryAfterMs };
      }
    }
  };

  /** Cancels the job that a source names when its step has ended. */
  async function cancelLate(step: PartStep, work: AttemptWork, late: Begin): Promise<void> {
    if (late.kind !== 'accepted') return;
    const { job } = late;
    await store.asAccount(step.accountId, (tx) =>
      keepSurplusJob(tx, step, { purpose: purposeOf(work), job }),
    );
    await cancelJobsOf(deps, step);
  }

  const collectAccepted: WorkOnSource = async (step, work, connector, signal) => {
    if (work.isCollected) return complete(step, work, connector, signal);
    if (work.cursor !== null)
      return collect(step, work, connector, connector.resume(work.cursor, signal), signal);
    if (work.job === null) return ask(step, work, connector, signal);

    const polled = await connector.poll(work.job, signal);
    if (polled.kind === 'ready') return collect(step, work, connector, polled.pages, signal);
    if (polled.job !== work.job) await store.asAccount(step.accountId, (tx) => saveJob(tx, step, polled.job));
    else if (work.failedCalls > 0) await store.asAccount(step.accountId, (tx) => clearFailedCalls(tx, step));
    return { state: 'waiting', retryAfterMs: polled.retryAfterMs };
  };

  async function collect(
    step: PartStep,
    work: AttemptWork,
    connector: SourceConnector,
    pages: AsyncIterable<SourcePage>,
    signal: AbortSignal,
    beginning?: Collection,
  ): Promise<SourceStep> {
    try {
      const resources = await collectPages(
        depsWith(connector, step),
        step,
        work.patientId,
        pages,
        signal,
        work,
        beginning,
      );
      return { state: 'completed', resources };
    } catch (error) {
      if (isNotEnough(error)) return askAgain(step, work, connector, error, signal);
      if (!cannotBeStored(error)) throw error;
      throw new SourceFailure('bad-answer', `${step.source} sent data that cannot be stored`, {
        cause: error,
      });
    }
  }

  /** Asks for everything after an answer with changes that cannot be trusted, or does not account for what the source has. */
  async function askAgain(
    step: PartStep,
    work: AttemptWork,
    connector: SourceConnector,
    reason: NotEnough,
    signal: AbortSignal,
  ): Promise<SourceStep> {
    const { fingerprint } = connector.changes ?? {};
    const counts = reason instanceof CountsDiffer ? reason.counts : undefined;
    if (counts === undefined && fingerprint !== undefined)
      await checks.note(step.part?.id ?? step.source, fingerprint, NOT_TRUSTED);
    await store.asAccount(step.accountId, (tx) => askForEverything(tx, step, reason));
    const fresh = { job: null, cursor: null, isCollected: false, pages: 0, resources: 0 };
    return ask(step, { ...work, ...fresh, counts }, connector, signal);
  }

  /** Finishes an attempt whose earlier step was killed after it had stored the last page. */
  async function complete(
    step: PartStep,
    work: AttemptWork,
    connector: SourceConnector,
    signal: AbortSignal,
  ): Promise<SourceStep> {
    try {
      await completeCollected(depsWith(connector, step), step, work.patientId, signal);
      return { state: 'completed', resources: work.resources };
    } catch (error) {
      if (isNotEnough(error)) return askAgain(step, work, connector, error, signal);
      throw error;
    }
  }

  const depsWith = (connector: SourceConnector, { source }: SourceStepInput) => ({
    ...deps,
    connectors: { ...deps.connectors, [source]: connector },
  });

  /** Opens the attempt and works on its parts, or on the one connection of the environment variables. */
  async function openAndWork(
    step: SourceStepInput,
    work: WorkOnSource,
    signal: AbortSignal,
  ): Promise<SourceStep> {
    const { accountId, source } = step;
    const { opened, withdrawn } = await store.asAccount(accountId, async (tx) => {
      const attempt = await openAttempt(tx, step, callbackHash(tokenOf(step)));
      return { opened: attempt, withdrawn: await consentWithdrawn(tx, step, attempt) };
    });
    if (opened.status !== 'running') return ended(opened);
    if (withdrawn !== undefined) {
      await cancelJobs(step, opened);
      return afterFailedCall(step, new SourceFailure('refused', withdrawn));
    }
    const { connections } = deps;
    if (connections !== undefined) {
      const parts = await openParts({ store, connections }, step, opened).catch((error: unknown) => {
        if (error instanceof SourceFailure) return error;
        throw error;
      });
      if (parts instanceof SourceFailure) return afterFailedCall(step, parts);
      if (parts.length > 0)
        return workOnParts({ store, connections, call }, step, opened, parts, work, signal);
    }
    const called = await call(step, opened, deps.connectors[source], work, signal);
    switch (called.kind) {
      case 'done':
        return called.result;
      case 'held':
        return hold(step, called);
      case 'failed':
        return afterFailedCall(step, called.failure);
    }
  }

  /** Asks the source to stop what it is working on; it is only a courtesy. */
  async function cancelJobs(step: SourceStepInput, work: AttemptWork): Promise<void> {
    const { connections, connectors } = deps;
    if (connections !== undefined) await cancelParts({ store, connections }, step, work);
    if (work.job !== null)
      await connectors[step.source]
        .cancel(work.job, AbortSignal.timeout(CANCEL_TIMEOUT_MS))
        .catch(noteUncancelled);
  }

  /** Returns the wait for a source that no query may call now. */
  async function hold(step: SourceStepInput, wait: { reason: string; waitMs: number }): Promise<SourceStep> {
    const nextTryAt = await store.asAccount(step.accountId, (tx) => recordHold(tx, step, wait));
    if (nextTryAt === undefined) throw new AttemptSuperseded('The attempt was ended while it waited');
    const held = { reason: wait.reason, nextTryAt: nextTryAt.toISOString() };
    return { state: 'waiting', retryAfterMs: wait.waitMs, held };
  }

  /** Records a failed call. Returns the wait for the source, or throws the failure that the workflow expects. */
  async function afterFailedCall(step: SourceStepInput, failure: SourceFailure): Promise<SourceStep> {
    const next = await store.asAccount(step.accountId, (tx) => recordFailedCall(tx, step, failure));
    if (next?.nextTryAt === undefined) throw toApplicationFailure(failure, next);
    const held = { reason: failure.message, nextTryAt: next.nextTryAt.toISOString() };
    return { state: 'waiting', retryAfterMs: next.waitMs, held };
  }

  const asStep = (step: SourceStepInput, work: WorkOnSource): Promise<SourceStep> =>
    withHeartbeat({ everyMs: HEARTBEAT_EVERY_MS, toFailure: describeFailure }, (signal) =>
      openAndWork(step, work, signal),
    );

  return {
    /** Finds the patient at the source and requests the data. Collects it if it is available at once. */
    askSource: (step: SourceStepInput): Promise<SourceStep> => asStep(step, ask),
    /** Polls an accepted request. Collects the data if it is ready. */
    collectSource: (step: SourceStepInput): Promise<SourceStep> => asStep(step, collectAccepted),
  };
}

/** Whether data cannot be stored, however often it is tried: nested too deeply for JavaScript, or refused by PostgreSQL. */
const cannotBeStored = (error: unknown): boolean =>
  (error instanceof RangeError && /call stack|string length/.test(error.message)) || isRefusedData(error);

/** The result for an attempt that was already ended, by another execution of this step or by giving up the source. */
function ended({ status, willRetry, resources, reason }: AttemptWork): SourceStep {
  // The workflow is older than this row, after a restore: it has yet to wait for the next attempt.
  if (status === 'failed' && willRetry)
    throw ApplicationFailure.nonRetryable(reason ?? 'The attempt failed', SOURCE_FAILURE_TYPES.jobFailed);
  if (status === 'failed')
    throw ApplicationFailure.nonRetryable(reason ?? 'The attempt has ended', SOURCE_FAILURE_TYPES.superseded);
  return { state: 'completed', resources, note: reason ?? undefined };
}

/** The source expires the job by itself. */
const noteUncancelled = (): void => log.info('the source did not accept the cancellation of a request');
