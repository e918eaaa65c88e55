import type {
  SourceStep,
  SourceStepInput,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { withinGrace } from '../../../lib/abort-signals.ts';
import { callSharedAmong } from '../../people/households/shared-values.ts';
import type { Store } from '../../platform/database/database.ts';
import { isRefusedData } from '../../platform/database/postgres-errors.ts';
import { readStoredDocuments } from '../../records/deliveries/delivery-store.ts';
import type { ChangeChecks } from '../../sources/connectors/change-check-store.ts';
import {
  type Begin,
  type Begun,
  type ChangesQuestion,
  NOT_TRUSTED,
  type Poll,
  SourceFailure,
  type SourcePage,
} from '../../sources/connectors/connector.ts';
import {
  cancelJobsOf,
  type JobCancellation,
  keepSurplusJob,
} from './abandoned-jobs.ts';
import {
  type AttemptWork,
  callbackToken,
  connectionKey,
  forgetJob,
  keepJob,
  type PartStep,
  provenToken,
  purposeOf,
  type SourceWork,
  saveJob,
} from './attempt-store.ts';
import { type Collecting, collectPages } from './collect.ts';
import {
  basisOf,
  beginCollection,
  changesSince,
  recordNotice,
} from './collection-store.ts';
import { CountsDiffer, completeCollected } from './complete.ts';
import type { DeferredAnswerStore } from './deferred-answers.ts';
import { endWithoutData } from './endings.ts';
import {
  askForEverything,
  clearFailedCalls,
  isNotEnough,
  type NotEnough,
} from './failed-calls.ts';
import {
  type KnownWhenAsking,
  readKnownWhenAsking,
} from './known-when-asking.ts';
import type { Moments } from './moment.ts';
import { isWhole } from './part-store.ts';
import { UNKNOWN_PATIENT } from './rules/query-status.ts';
import { reviewsBy } from './source-candidate-store.ts';
import type { Collection } from './tables.ts';

export interface Asking extends Collecting, JobCancellation {
  store: Store;
  /**
   * Base URL for a source's callbacks, without the token; undefined for a
   * source that is only polled.
   */
  callbackBaseUrl: (
    source: SourceType,
    connectionId?: string,
  ) => string | undefined;
  callbackKey: string;
  checks: ChangeChecks;
  /** Without it, no source can answer later to an address of ours. */
  deferredAnswers?: DeferredAnswerStore;
  noteUncancelled: () => void;
  /** Without it, a step leaves each wait to the workflow. */
  moments?: Moments;
}

/**
 * How long a cancelled step waits for the source to name the job that its
 * request has started; after that, it ends without.
 */
const JOB_AWAITED_MS = 5_000;

/**
 * Finds the patient at the source and requests the data. Collects it if it is
 * available at once.
 */
export async function askSource(
  deps: Asking,
  on: SourceWork,
): Promise<SourceStep> {
  const { step, work, connector, signal } = on;
  const { store } = deps;
  const collected = collectStored(deps, on);
  if (collected !== undefined) return collected;
  if (work.job !== null) return afterAMoment(deps, on, work.job);

  const now = deps.clock?.() ?? new Date();
  checkAccess(work, now);
  const known = await readKnownWhenAsking(store, step, work.patientId);
  const beginning = whatToAsk(known, deps.checks, on, now);
  const review = reviewsBy(store, work.patientId, known.decided)(step);
  const storedDocuments =
    connector.keepsDocuments === true && isFirst(step)
      ? await store.asAccount(step.accountId, (tx) =>
          readStoredDocuments(tx, work.patientId, step.source),
        )
      : undefined;
  const options = {
    callbackUrl: callbackUrlOf(deps, on),
    realtime: work.realtime,
    changes: await beginning.changes?.(),
    storedDocuments,
    deferred: deps.deferredAnswers?.questionsOf(step, work.patientId),
  };
  const begun = await withinGrace(
    connector.begin(
      {
        ...work.demographics,
        review,
        sharedAmong: (theirs) =>
          callSharedAmong(store, step.accountId, work.demographics, theirs),
      },
      options,
      signal,
    ),
    {
      signal,
      graceMs: JOB_AWAITED_MS,
      late: (late) =>
        void cancelLate(deps, on, late).catch(deps.noteUncancelled),
    },
  );
  await recordTold(deps, step, begun);
  if (begun.kind === 'unknown-patient') {
    await store.asAccount(step.accountId, (tx) =>
      endWithoutData(tx, step, UNKNOWN_PATIENT),
    );
    return { state: 'completed', resources: 0, note: UNKNOWN_PATIENT };
  }
  await beginning.noteChecked(begun.checked);
  const collection = beginning.collection(begun);
  if (begun.kind === 'ready') {
    if (collection?.since === undefined)
      return collect(deps, on, begun.pages, known.files, collection);
    // Before the first page: should that page not be one of changes, the source
    // is asked again, and for everything.
    await store.asAccount(step.accountId, (tx) =>
      beginCollection(tx, step, work.patientId, collection),
    );
    return collect(deps, on, begun.pages, known.files);
  }
  const isKept = await store.asAccount(step.accountId, async (tx) => {
    const kept = await keepJob(tx, step, begun.job);
    if (!kept)
      await keepSurplusJob(tx, step, {
        purpose: purposeOf(work),
        job: begun.job,
      });
    else if (collection !== undefined)
      await beginCollection(tx, step, work.patientId, collection);
    return kept;
  });
  // Another execution of this step was faster, or the attempt was given up:
  // this job would never be collected.
  if (!isKept) {
    await cancelJobsOf(deps, step);
    return { state: 'waiting', retryAfterMs: begun.retryAfterMs };
  }
  return afterAMoment(deps, on, begun.job, begun.retryAfterMs);
}

/**
 * Waits a moment for a source that works on its answer, and collects what is
 * ready by then.
 */
async function afterAMoment(
  deps: Asking,
  on: SourceWork,
  job: Record<string, unknown>,
  retryAfterMs?: number,
): Promise<SourceStep> {
  const { step, work, signal } = on;
  const waiting: SourceStep = { state: 'waiting', retryAfterMs };
  const isAwaited =
    isWhole(step.part) &&
    (retryAfterMs !== undefined || callbackUrlOf(deps, on) !== undefined);
  if (deps.moments === undefined || !isAwaited) return waiting;

  const isDue = await deps.moments.pass(step, retryAfterMs, signal);
  return isDue ? pollSource(deps, { ...on, work: { ...work, job } }) : waiting;
}

/** Says in the timeline what the source's connector has remarked on. */
async function recordTold(
  { store }: Pick<Asking, 'store'>,
  step: PartStep,
  { notice, warnings = [] }: Begin,
): Promise<void> {
  if (notice === undefined && warnings.length === 0) return;
  await store.asAccount(step.accountId, async (tx) => {
    if (notice !== undefined) await recordNotice(tx, step, notice);
    for (const { kind, message } of warnings)
      await recordNotice(tx, step, message, kind);
  });
}

/**
 * Individual access is valid only as long as the session that the query was
 * started with. Checked before each request to a source, which may be days
 * later. The result of a request that a source accepted in time is still
 * collected.
 */
function checkAccess(
  { accessEndsAt }: Pick<AttemptWork, 'accessEndsAt'>,
  now: Date,
): void {
  if (
    accessEndsAt === undefined ||
    (accessEndsAt !== null && accessEndsAt > now)
  )
    return;
  throw new SourceFailure(
    'refused',
    'The AAL2 session of this query has expired; start a query with an active session',
  );
}

/** Polls an accepted request. Collects the data if it is ready. */
export async function pollSource(
  deps: Asking,
  on: SourceWork,
): Promise<SourceStep> {
  const { step, work, connector, signal } = on;
  const collected = collectStored(deps, on);
  if (collected !== undefined) return collected;
  if (work.job === null) return askSource(deps, on);

  const polled = await connector.poll(
    work.job,
    signal,
    deps.deferredAnswers?.questionsOf(step, work.patientId),
  );
  if (polled.kind === 'answered') {
    await deps.store.asAccount(step.accountId, (tx) => forgetJob(tx, step));
    return askSource(deps, { ...on, work: { ...work, job: null } });
  }
  if (polled.kind === 'ready') return collect(deps, on, polled.pages);
  return notePending(deps, on, polled);
}

/**
 * Looks whether there is anything to collect, and collects nothing: it may be
 * cancelled at any time.
 */
export async function lookAtSource(
  deps: Asking,
  on: SourceWork,
): Promise<SourceStep> {
  const { step, work, connector, signal } = on;
  if (work.job === null || work.cursor !== null || work.isCollected)
    return { state: 'ready' };

  const polled = await connector.poll(
    work.job,
    signal,
    deps.deferredAnswers?.questionsOf(step, work.patientId),
  );
  if (polled.kind !== 'pending') return { state: 'ready' };
  return notePending(deps, on, polled);
}

async function notePending(
  { store }: Asking,
  { step, work }: SourceWork,
  polled: Extract<Poll, { kind: 'pending' }>,
): Promise<SourceStep> {
  if (polled.job !== work.job)
    await store.asAccount(step.accountId, (tx) =>
      saveJob(tx, step, polled.job),
    );
  else if (work.failedCalls > 0)
    await store.asAccount(step.accountId, (tx) => clearFailedCalls(tx, step));
  return { state: 'waiting', retryAfterMs: polled.retryAfterMs };
}

/**
 * Goes on after the last stored page, where an earlier step was killed;
 * undefined when none is stored.
 */
function collectStored(
  deps: Asking,
  on: SourceWork,
): Promise<SourceStep> | undefined {
  const { work, connector, signal } = on;
  if (work.isCollected)
    return orAskAgain(deps, on, async () => {
      await completeCollected(deps, on);
      return work.resources;
    });
  return work.cursor === null
    ? undefined
    : collect(deps, on, connector.resume(work.cursor, signal));
}

const collect = (
  deps: Asking,
  on: SourceWork,
  pages: AsyncIterable<SourcePage>,
  files?: ReadonlyMap<string, string>,
  beginning?: Collection,
): Promise<SourceStep> =>
  orAskAgain(deps, on, () =>
    collectPages(deps, on, pages, files, beginning).catch((error: unknown) => {
      if (!cannotBeStored(error)) throw error;
      throw new SourceFailure(
        'bad-answer',
        `${on.step.source} sent data that cannot be stored`,
        {
          cause: error,
        },
      );
    }),
  );

/**
 * Whether data cannot be stored, however often it is tried: nested too deeply
 * for JavaScript, or refused by PostgreSQL.
 */
const cannotBeStored = (error: unknown): boolean =>
  (error instanceof RangeError &&
    /call stack|string length/.test(error.message)) ||
  isRefusedData(error);

/**
 * Asks for everything if an answer with changes cannot be trusted, or does not
 * account for what the source has.
 */
async function orAskAgain(
  deps: Asking,
  on: SourceWork,
  collecting: () => Promise<number>,
): Promise<SourceStep> {
  const { step, work, connector } = on;
  const resources = await collecting().catch((error: unknown): NotEnough => {
    if (isNotEnough(error)) return error;
    throw error;
  });
  if (typeof resources === 'number') return { state: 'completed', resources };
  const { fingerprint } = connector.changes ?? {};
  const counts =
    resources instanceof CountsDiffer ? resources.counts : undefined;
  if (counts === undefined && fingerprint !== undefined)
    await deps.checks.note(connectionKey(step), fingerprint, NOT_TRUSTED);
  await deps.store.asAccount(step.accountId, (tx) =>
    askForEverything(tx, step, resources),
  );
  const fresh = {
    job: null,
    cursor: null,
    isCollected: false,
    pages: 0,
    resources: 0,
  };
  return askSource(deps, { ...on, work: { ...work, ...fresh, counts } });
}

/**
 * The token in the callback of an account's own connection proves that we made
 * it.
 */
function callbackUrlOf(
  { callbackBaseUrl, callbackKey }: Asking,
  { step }: SourceWork,
): string | undefined {
  const base = callbackBaseUrl(step.source, step.part.id ?? undefined);
  if (base === undefined) return undefined;
  const token = callbackToken(
    callbackKey,
    step.requestId,
    step.source,
    step.attempt,
  );
  return `${base}/${isWhole(step.part) ? token : provenToken(callbackKey, token)}`;
}

/** Cancels the job that a source names when its step has ended. */
async function cancelLate(
  deps: Asking,
  { step, work }: SourceWork,
  late: Begin,
): Promise<void> {
  if (late.kind !== 'accepted') return;
  const { job } = late;
  const surplus = { purpose: purposeOf(work), job };
  await deps.store.asAccount(step.accountId, (tx) =>
    keepSurplusJob(tx, step, surplus),
  );
  await cancelJobsOf(deps, step);
}

/**
 * More supporting resources than this are not asked for one by one: everything
 * is.
 */
const SUPPORTING_MAX = 500;

/**
 * How a collection begins: the question for the source, and what to record of
 * it.
 */
interface BeginningCollection {
  changes?: () => Promise<ChangesQuestion>;
  /**
   * What is recorded once the source has accepted the question; undefined when
   * nothing is.
   */
  collection(begun: Begun): Collection | undefined;
  /** Remembers what this has found out about the server. */
  noteChecked(checked: Begun['checked']): Promise<void>;
}

const NOT_RECORDED: BeginningCollection = {
  collection: () => undefined,
  noteChecked: async () => undefined,
};

/**
 * Further attempts and redrives ask for everything, because something about the
 * earlier answers was wrong.
 */
const isFirst = ({ attempt, run }: SourceStepInput): boolean =>
  attempt === 1 && run === 0;

/**
 * Decides what a connection is asked for: what has changed since its last
 * complete answer, or everything.
 */
function whatToAsk(
  known: KnownWhenAsking,
  checks: ChangeChecks,
  { step, work, connector }: SourceWork,
  now: Date,
): BeginningCollection {
  if (connector.changes === undefined || work.realtime) return NOT_RECORDED;
  const { fingerprint, fullAfterDays } = connector.changes;
  const connection = connectionKey(step);
  const basis = basisOf(work.demographics, fingerprint);
  const last = isFirst(step) ? known.last : undefined;
  const since = changesSince(last, {
    basis,
    now,
    fullAfterDays,
  })?.toISOString();
  const { held } = known;
  const canAsk =
    held.newest.length > 0 && held.supporting.length <= SUPPORTING_MAX;
  const changes =
    last === undefined || since === undefined || !canAsk
      ? undefined
      : async () => ({
          since,
          patientIds: last.patientIds,
          ...held,
          honoured: await checks.read(connection, fingerprint),
        });
  return {
    changes,
    collection: (begun) => ({
      startedAt: now.toISOString(),
      basis,
      patientIds: begun.patientIds ?? [],
      ...(begun.since === undefined
        ? { counts: work.counts }
        : {
            since: begun.since,
            fullAt: last?.fullAt.toISOString(),
            differences: last?.differences,
          }),
    }),
    noteChecked: (checked) =>
      checks.note(connection, fingerprint, checked ?? {}),
  };
}
