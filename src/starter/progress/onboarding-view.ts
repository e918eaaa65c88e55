import {
  type LearnedBy,
  type OnboardedSource,
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
} from '../../contract/patient-onboarding.ts';
import type { SourceType } from '../../contract/primitives.ts';
import type { OverallState } from '../../lib/exit-codes.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { OnboardingHandle } from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import type { FollowOptions } from './poll-exchange.ts';
import {
  QueryReader,
  type QuerySourceView,
  type QueryView,
} from './query-view.ts';
import {
  askWorkflow,
  type Following,
  followWorkflow,
  readWorkflowOnce,
  type WorkflowEnd,
} from './workflow-state.ts';

export interface OnboardingSourceView {
  type: SourceType;
  state: PatientOnboardingStatus['sources'][number]['state'];
  attempts: number;
  /** How many queries were started for this source; known at the end. */
  starts?: number;
  requestId?: string;
  /** When its current attempt began; only while it runs. */
  startedAt?: string;
  via?: LearnedBy;
  note?: string;
}

export type OnboardingView = ReturnType<typeof onboardingView>;

/**
 * What is known of an onboarding. Each part has its own source and may be
 * missing.
 */
export interface KnownOfOnboarding {
  status?: PatientOnboardingStatus;
  queries: ReadonlyMap<string, QueryView>;
  end?: WorkflowEnd<PatientOnboardingSummary>;
  problem?: string;
}

/**
 * State of an onboarding: the workflow's own status, completed by the
 * exchange's state of its queries.
 */
export function onboardingView(known: KnownOfOnboarding) {
  const { status, queries, end } = known;
  const summary = end?.state === 'ended' ? end.summary : undefined;
  const stateBefore: OverallState =
    end === undefined || end.state === 'ended' ? 'running' : end.state;
  return {
    state: summary?.status ?? stateBefore,
    phase: end === undefined ? status?.phase : ('ended' as const),
    patientId: summary?.patientId ?? status?.patientId,
    /** False when the patient already existed at the exchange. */
    created: summary?.created ?? status?.created,
    cohorts: summary?.cohorts ?? status?.cohorts ?? [],
    requestIds: summary?.requestIds ?? status?.requestIds ?? [],
    sources:
      summary?.sources.map((source) => endedSource(source, status, queries)) ??
      status?.sources.map((source) =>
        knownSource(source, queries, end !== undefined),
      ) ??
      [],
    /**
     * Individual access only, while it runs: the page that the patient must
     * open next.
     */
    identity: end === undefined ? status?.identity : undefined,
    webhooksReceived:
      summary?.webhooksReceived ?? status?.webhooksReceived ?? 0,
    polls: status?.polls,
    /**
     * A problem that the work waits for, or the reason why there is no newer
     * state.
     */
    problem: end === undefined ? (known.problem ?? status?.problem) : undefined,
    /** Why it ended without a summary. */
    failure: end?.state === 'failed' ? end.reason : undefined,
    summary,
  };
}

/**
 * A source without a summary: the workflow's last status, completed by the
 * exchange's.
 */
function knownSource(
  { type, state, requestId, via }: PatientOnboardingStatus['sources'][number],
  queries: ReadonlyMap<string, QueryView>,
  isOver: boolean,
): OnboardingSourceView {
  const query = requestId === undefined ? undefined : queries.get(requestId);
  const source = query?.sources.find((entry) => entry.type === type);
  const known = {
    type,
    state,
    attempts: source?.attempts ?? 0,
    requestId,
    note: source?.note,
  };
  if (state !== 'running') return { ...known, via };
  if (!isEnded(source, query))
    return { ...known, startedAt: source?.history.at(-1)?.startedAt };
  // An ended workflow receives no webhooks, so its own status of the source may
  // be out of date.
  return isOver
    ? { ...known, state: source.state }
    : {
        ...known,
        note: `${source.note ?? source.state}; waiting for the webhook`,
      };
}

function endedSource(
  { type, outcome, attempts, starts, via, error }: OnboardedSource,
  status: PatientOnboardingStatus | undefined,
  queries: ReadonlyMap<string, QueryView>,
): OnboardingSourceView {
  const requestId = status?.sources.find(
    (source) => source.type === type,
  )?.requestId;
  const atExchange = [...queries.values()]
    .filter((query) => requestId === undefined || query.requestId === requestId)
    .flatMap((query) => query.sources.filter((source) => source.type === type))
    .at(-1);
  return {
    type,
    state: outcome,
    attempts: Math.max(attempts, atExchange?.attempts ?? 0),
    starts,
    requestId,
    via,
    // The timeline says why a source failed; the summary says only that it
    // failed.
    note:
      outcome === 'completed' || outcome === 'failed'
        ? (atExchange?.note ?? error)
        : error,
  };
}

/** While the query runs, a failed attempt may be followed by another one. */
const isEnded = (
  source: QuerySourceView | undefined,
  query: QueryView | undefined,
): source is QuerySourceView & { state: 'completed' | 'failed' } =>
  source?.state === 'completed' ||
  (source?.state === 'failed' && query?.state !== 'running');

interface FollowOnboardingOptions extends FollowOptions {
  /**
   * The exchange, for the attempts of each source; without it only the workflow
   * is queried.
   */
  client?: ExchangeClient;
}

const NO_WORKER =
  'no worker answers; the onboarding continues when one is available';

/** Follows an onboarding until it ends; see `followWorkflow`. */
export const followOnboarding = (
  handle: OnboardingHandle,
  onChange: (view: OnboardingView) => void,
  { client, ...options }: FollowOnboardingOptions = {},
): Promise<OnboardingView> =>
  followWorkflow(onboardingFollowing(handle, client), onChange, options);

/** Reads the state of an onboarding once; see `readWorkflowOnce`. */
export const readOnboarding = (
  handle: OnboardingHandle,
  client: ExchangeClient,
): Promise<OnboardingView> =>
  readWorkflowOnce(onboardingFollowing(handle, client));

function onboardingFollowing(
  handle: OnboardingHandle,
  client: ExchangeClient | undefined,
): Following<KnownOfOnboarding, PatientOnboardingSummary, OnboardingView> {
  const reader = client === undefined ? undefined : new QueryReader(client);
  const readStatus = () =>
    askWorkflow<PatientOnboardingStatus>(
      handle,
      PATIENT_ONBOARDING_MESSAGES.status,
    );
  return {
    handle,
    nothing: { queries: new Map() },
    async read(known, signal) {
      const status = await readStatus();
      if (status === undefined) return { ...known, problem: NO_WORKER };
      return {
        status,
        queries: await readQueries(
          reader,
          status.requestIds,
          known.queries,
          signal,
        ),
      };
    },
    async addEnd(known, end, signal) {
      const status =
        (await readStatus().catch(() => undefined)) ?? known.status;
      // The summary holds all request ids; the status may be older.
      const requestIds =
        end.state === 'ended'
          ? end.summary.requestIds
          : (status?.requestIds ?? []);
      const queries = await readQueries(
        reader,
        requestIds,
        known.queries,
        signal,
      );
      return { ...known, status, queries, end };
    },
    view: onboardingView,
  };
}

/**
 * Reads the queries of an onboarding from the exchange. A query that cannot be
 * read keeps its earlier view.
 */
async function readQueries(
  reader: QueryReader | undefined,
  requestIds: readonly string[],
  before: KnownOfOnboarding['queries'],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, QueryView>> {
  const queries = new Map(before);
  if (reader === undefined) return queries;
  for (const requestId of requestIds) {
    // An ended query may be retried, so it is read until the onboarding itself
    // has ended.
    const view = await reader
      .read(requestId, signal)
      .catch((error: unknown) => {
        if (error instanceof ExchangeCallError || signal?.aborted === true)
          return undefined;
        throw error;
      });
    if (view !== undefined) queries.set(requestId, view);
  }
  return queries;
}
