import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import {
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingStatus,
} from '../../contract/patient-onboarding.ts';
import { ExchangeError } from '../../orchestrator/client/failures.ts';
import type { OnboardingHandle } from '../../orchestrator/start-onboarding.ts';
import type { QueryReader } from './look-at-query.ts';
import type { KnownOfOnboarding, OnboardingEnd } from './onboarding-view.ts';
import { pause } from './pace.ts';
import { plainText } from './plain-text.ts';
import type { QueryView } from './query-view.ts';

/** A query of a workflow needs a worker; without one it would wait for long. */
const STATUS_TIMEOUT_MS = 5_000;
const TEMPORAL_AWAY_MS = 2_000;

/** The workflow's status; undefined when no worker answers now. Throws WorkflowNotFoundError. */
export async function readStatus(handle: OnboardingHandle): Promise<PatientOnboardingStatus | undefined> {
  try {
    return await handle.client.withDeadline(Date.now() + STATUS_TIMEOUT_MS, () =>
      handle.query<PatientOnboardingStatus>(PATIENT_ONBOARDING_MESSAGES.status),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw error;
    return undefined;
  }
}

/** Waits until it has ended, however often Temporal cannot be reached meanwhile; undefined when the signal is raised. */
export async function awaitEnd(
  handle: OnboardingHandle,
  signal: AbortSignal,
): Promise<OnboardingEnd | undefined> {
  while (!signal.aborted) {
    try {
      const summary = await handle.client.withAbortSignal(signal, () => handle.result());
      return { state: 'ended', summary };
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw error;
      if (error instanceof WorkflowFailedError) return endOf(error);
      await pause(TEMPORAL_AWAY_MS, signal);
    }
  }
  return undefined;
}

function endOf({ cause }: WorkflowFailedError): OnboardingEnd {
  if (cause instanceof CancelledFailure) return { state: 'cancelled' };
  if (cause instanceof TerminatedFailure) return { state: 'failed', reason: 'It was terminated' };
  if (cause instanceof TimeoutFailure)
    return { state: 'failed', reason: 'It took longer than it was allowed' };
  if (cause instanceof ApplicationFailure) return { state: 'failed', reason: plainText(cause.message) };
  return { state: 'failed', reason: 'It failed; the Temporal UI says why' };
}

/** The queries of an onboarding as the exchange tells them; those it does not answer for stay as they were. */
export async function readQueries(
  reader: QueryReader | undefined,
  requestIds: readonly string[],
  before: KnownOfOnboarding['queries'],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, QueryView>> {
  const queries = new Map(before);
  if (reader === undefined) return queries;
  for (const requestId of requestIds) {
    // An ended query can be taken up again, so only the end of the onboarding ends the looking.
    const view = await reader.look(requestId, signal).catch((error: unknown) => {
      if (error instanceof ExchangeError || signal?.aborted === true) return undefined;
      throw error;
    });
    if (view !== undefined) queries.set(requestId, view);
  }
  return queries;
}
