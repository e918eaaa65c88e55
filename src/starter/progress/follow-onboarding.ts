import {
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingStatus,
} from '../../contract/patient-onboarding.ts';
import { anySignal } from '../../lib/any-signal.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import type { OnboardingHandle } from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import type { FollowOptions } from './follow-query.ts';
import { readQueries } from './look-at-onboarding.ts';
import { QueryReader } from './look-at-query.ts';
import { type KnownOfOnboarding, type OnboardingView, onboardingView } from './onboarding-view.ts';
import { nextDelayMs, Pace } from './pace.ts';
import { askWorkflow, awaitEnd } from './workflow-state.ts';

export interface FollowOnboardingOptions extends FollowOptions {
  /** The exchange, for the attempts of each source; without it only the workflow is asked. */
  client?: ExchangeClient;
}

const NO_WORKER = 'no worker answers now; the onboarding goes on when one does';

/**
 * Looks at an onboarding until it has ended; `onChange` gets each new state. Workers, Temporal and the exchange may
 * go and come back meanwhile. Throws WorkflowNotFoundError when Temporal does not know it.
 */
export async function followOnboarding(
  handle: OnboardingHandle,
  onChange: (view: OnboardingView) => void,
  { client, pace = new Pace(), signal }: FollowOnboardingOptions = {},
): Promise<OnboardingView> {
  const reader = client === undefined ? undefined : new QueryReader(client);
  const done = new AbortController();
  const stop = signal === undefined ? done.signal : anySignal([signal, done.signal]);
  const ended = new AbortController();
  const end = awaitEnd(handle, stop).finally(() => ended.abort());
  // Awaited below; until then a rejection must not count as unhandled.
  end.catch(() => undefined);
  let known: KnownOfOnboarding = { queries: new Map() };
  let told = '';
  const tell = (): boolean => {
    const view = onboardingView(known);
    const isNew = JSON.stringify(view) !== told;
    told = JSON.stringify(view);
    if (isNew) onChange(view);
    return isNew;
  };
  try {
    let delayMs: number | undefined;
    const untilEnd = anySignal([stop, ended.signal]);
    while (!untilEnd.aborted) {
      known = await look(handle, reader, known, untilEnd);
      if (untilEnd.aborted) break;
      delayMs = nextDelayMs(delayMs, tell());
      await pace.turn(delayMs, untilEnd);
    }
    known = await withEnd(handle, reader, { ...known, end: await end }, signal);
    tell();
    return onboardingView(known);
  } finally {
    done.abort();
  }
}

/** One look. Throws WorkflowNotFoundError when Temporal does not know it, else what keeps Temporal from answering. */
export async function lookAtOnboarding(
  handle: OnboardingHandle,
  client: ExchangeClient,
): Promise<OnboardingView> {
  const reader = new QueryReader(client);
  const { status } = await handle.describe();
  const known = await look(handle, reader, { queries: new Map() });
  if (status.name === 'RUNNING' || status.name === 'PAUSED') return onboardingView(known);
  const end = await awaitEnd(handle, new AbortController().signal);
  return onboardingView(await withEnd(handle, reader, { ...known, end }));
}

const readStatus = (handle: OnboardingHandle) =>
  askWorkflow<PatientOnboardingStatus>(handle, PATIENT_ONBOARDING_MESSAGES.status);

async function look(
  handle: OnboardingHandle,
  reader: QueryReader | undefined,
  known: KnownOfOnboarding,
  signal?: AbortSignal,
): Promise<KnownOfOnboarding> {
  const status = await readStatus(handle);
  if (status === undefined) return { ...known, problem: NO_WORKER };
  return { status, queries: await readQueries(reader, status.requestIds, known.queries, signal) };
}

/** The last look at the queries, by the ids that the summary knows for certain. */
async function withEnd(
  handle: OnboardingHandle,
  reader: QueryReader | undefined,
  known: KnownOfOnboarding,
  signal?: AbortSignal,
): Promise<KnownOfOnboarding> {
  if (known.end === undefined) return known;
  const status = (await readStatus(handle).catch(() => undefined)) ?? known.status;
  const requestIds = known.end.state === 'ended' ? known.end.summary.requestIds : (status?.requestIds ?? []);
  return { ...known, status, queries: await readQueries(reader, requestIds, known.queries, signal) };
}
