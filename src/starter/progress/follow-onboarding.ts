import {
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
} from '../../contract/patient-onboarding.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { OnboardingHandle } from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import { type Following, followWorkflow, lookAtWorkflow } from './follow-workflow.ts';
import { QueryReader } from './look-at-query.ts';
import { type KnownOfOnboarding, type OnboardingView, onboardingView } from './onboarding-view.ts';
import type { FollowOptions } from './poll-exchange.ts';
import type { QueryView } from './query-view.ts';
import { askWorkflow } from './workflow-state.ts';

export interface FollowOnboardingOptions extends FollowOptions {
  /** The exchange, for the attempts of each source; without it only the workflow is queried. */
  client?: ExchangeClient;
}

const NO_WORKER = 'no worker answers; the onboarding continues when one is available';

/** Follows an onboarding until it ends; see `followWorkflow`. */
export const followOnboarding = (
  handle: OnboardingHandle,
  onChange: (view: OnboardingView) => void,
  { client, ...options }: FollowOnboardingOptions = {},
): Promise<OnboardingView> => followWorkflow(onboardingFollowing(handle, client), onChange, options);

/** Reads the state of an onboarding once; see `lookAtWorkflow`. */
export const lookAtOnboarding = (handle: OnboardingHandle, client: ExchangeClient): Promise<OnboardingView> =>
  lookAtWorkflow(onboardingFollowing(handle, client));

function onboardingFollowing(
  handle: OnboardingHandle,
  client: ExchangeClient | undefined,
): Following<KnownOfOnboarding, PatientOnboardingSummary, OnboardingView> {
  const reader = client === undefined ? undefined : new QueryReader(client);
  const readStatus = () => askWorkflow<PatientOnboardingStatus>(handle, PATIENT_ONBOARDING_MESSAGES.status);
  return {
    handle,
    nothing: { queries: new Map() },
    async look(known, signal) {
      const status = await readStatus();
      if (status === undefined) return { ...known, problem: NO_WORKER };
      return { status, queries: await readQueries(reader, status.requestIds, known.queries, signal) };
    },
    async addEnd(known, end, signal) {
      const status = (await readStatus().catch(() => undefined)) ?? known.status;
      // The summary holds all request ids; the status may be older.
      const requestIds = end.state === 'ended' ? end.summary.requestIds : (status?.requestIds ?? []);
      const queries = await readQueries(reader, requestIds, known.queries, signal);
      return { ...known, status, queries, end };
    },
    view: onboardingView,
  };
}

/** Reads the queries of an onboarding from the exchange. A query that cannot be read keeps its earlier view. */
async function readQueries(
  reader: QueryReader | undefined,
  requestIds: readonly string[],
  before: KnownOfOnboarding['queries'],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, QueryView>> {
  const queries = new Map(before);
  if (reader === undefined) return queries;
  for (const requestId of requestIds) {
    // An ended query may be retried, so it is read until the onboarding itself has ended.
    const view = await reader.look(requestId, signal).catch((error: unknown) => {
      if (error instanceof ExchangeCallError || signal?.aborted === true) return undefined;
      throw error;
    });
    if (view !== undefined) queries.set(requestId, view);
  }
  return queries;
}
