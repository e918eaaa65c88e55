import { once } from 'node:events';
import { type Client, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { pause } from './pace.ts';
import { plainText } from './plain-text.ts';

/** How a workflow ended, as Temporal tells it. */
export type WorkflowEnd<S> =
  | { state: 'ended'; summary: S }
  | { state: 'failed'; reason: string }
  | { state: 'cancelled' };

/** What is needed of a handle; those of the SDK are such. */
interface Watched<S> {
  client: Pick<Client['workflow'], 'withDeadline' | 'withAbortSignal'>;
  query<R>(name: string): Promise<R>;
  result(): Promise<S>;
}

/** A query of a workflow needs a worker; without one it would wait for long. */
const STATUS_TIMEOUT_MS = 5_000;
const TEMPORAL_AWAY_MS = 2_000;

/** The answer to a query; undefined when no worker answers now. Throws WorkflowNotFoundError. */
export async function askWorkflow<R>(handle: Watched<unknown>, query: string): Promise<R | undefined> {
  try {
    return await handle.client.withDeadline(Date.now() + STATUS_TIMEOUT_MS, () => handle.query<R>(query));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw error;
    return undefined;
  }
}

/** Waits until it has ended, however often Temporal cannot be reached meanwhile; undefined when the signal is raised. */
export async function awaitEnd<S>(
  handle: Watched<S>,
  signal: AbortSignal,
): Promise<WorkflowEnd<S> | undefined> {
  while (!signal.aborted) {
    try {
      const result = handle.client.withAbortSignal(signal, () => handle.result());
      return await unlessRaised(
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

/** The SDK minds the signal while a call is under way, not while it waits to repeat one that has failed. */
function unlessRaised<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  const raised = once(signal, 'abort', { signal: done.signal }).then(
    () => undefined,
    () => undefined,
  );
  return Promise.race([work, raised]).finally(() => done.abort());
}

function endOf({ cause }: WorkflowFailedError): { state: 'failed'; reason: string } | { state: 'cancelled' } {
  if (cause instanceof CancelledFailure) return { state: 'cancelled' };
  if (cause instanceof TerminatedFailure) return { state: 'failed', reason: 'It was terminated' };
  if (cause instanceof TimeoutFailure)
    return { state: 'failed', reason: 'It took longer than it was allowed' };
  if (cause instanceof ApplicationFailure) return { state: 'failed', reason: plainText(cause.message) };
  return { state: 'failed', reason: 'It failed; the Temporal UI says why' };
}
