import { once } from 'node:events';
import { type Client, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { pause } from './pace.ts';
import { plainText } from './plain-text.ts';

/** How a workflow ended, according to Temporal. */
export type WorkflowEnd<S> =
  | { state: 'ended'; summary: S }
  | { state: 'failed'; reason: string }
  | { state: 'cancelled' };

/** The members of a workflow handle that are used. */
export interface WatchedWorkflow<S> {
  client: Pick<Client['workflow'], 'withDeadline' | 'withAbortSignal'>;
  query<R>(name: string): Promise<R>;
  result(): Promise<S>;
}

/** A workflow query needs a worker; without one it would wait for a long time. */
const STATUS_TIMEOUT_MS = 5_000;
const TEMPORAL_AWAY_MS = 2_000;

/** Returns the answer to a workflow query; undefined when no worker answers. Throws WorkflowNotFoundError. */
export async function askWorkflow<R>(
  handle: WatchedWorkflow<unknown>,
  query: string,
): Promise<R | undefined> {
  try {
    return await handle.client.withDeadline(Date.now() + STATUS_TIMEOUT_MS, () => handle.query<R>(query));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw error;
    return undefined;
  }
}

/**
 * Waits until a workflow ends, through any outage of Temporal. Returns undefined when the signal is aborted first.
 * Throws WorkflowNotFoundError.
 */
export async function awaitEnd<S>(
  handle: WatchedWorkflow<S>,
  signal: AbortSignal,
): Promise<WorkflowEnd<S> | undefined> {
  while (!signal.aborted) {
    try {
      const result = handle.client.withAbortSignal(signal, () => handle.result());
      return await unlessAborted(
        signal,
        result.then((summary) => ({ state: 'ended' as const, summary })),
      );
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) throw error;
      if (error instanceof WorkflowFailedError) return endOf(error);
      await pause(TEMPORAL_AWAY_MS, signal);
    }
  }
  return undefined;
}

/** The SDK observes the signal during a call, but not while it waits to repeat a failed call. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  const aborted = once(signal, 'abort', { signal: done.signal }).then(
    () => undefined,
    () => undefined,
  );
  return Promise.race([work, aborted]).finally(() => done.abort());
}

function endOf({ cause }: WorkflowFailedError): { state: 'failed'; reason: string } | { state: 'cancelled' } {
  if (cause instanceof CancelledFailure) return { state: 'cancelled' };
  if (cause instanceof TerminatedFailure)
    return { state: 'failed', reason: 'the workflow was terminated in Temporal' };
  if (cause instanceof TimeoutFailure) return { state: 'failed', reason: 'the workflow timed out' };
  if (cause instanceof ApplicationFailure) return { state: 'failed', reason: plainText(cause.message) };
  return { state: 'failed', reason: 'the workflow failed; see the Temporal UI for the reason' };
}
