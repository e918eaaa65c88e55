import { once } from 'node:events';
import {
  type Client,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import {
  ApplicationFailure,
  CancelledFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common';
import { anySignal } from '../../lib/abort-signals.ts';
import { terminalText } from './plain-text.ts';
import {
  type FollowOptions,
  nextDelayMs,
  Pace,
  pause,
} from './poll-exchange.ts';

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

/**
 * A workflow query needs a worker; without one it would wait for a long time.
 */
const STATUS_TIMEOUT_MS = 5_000;
const TEMPORAL_AWAY_MS = 2_000;

/**
 * Returns the response to a workflow query; undefined when no worker answers.
 * Throws WorkflowNotFoundError.
 */
export async function askWorkflow<R>(
  handle: WatchedWorkflow<unknown>,
  query: string,
): Promise<R | undefined> {
  try {
    return await handle.client.withDeadline(
      Date.now() + STATUS_TIMEOUT_MS,
      () => handle.query<R>(query),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw error;
    return undefined;
  }
}

/**
 * Waits until a workflow ends, through any outage of Temporal. Returns
 * undefined when the signal is aborted first. Throws WorkflowNotFoundError.
 */
export async function awaitEnd<S>(
  handle: WatchedWorkflow<S>,
  signal: AbortSignal,
): Promise<WorkflowEnd<S> | undefined> {
  while (!signal.aborted) {
    try {
      const result = handle.client.withAbortSignal(signal, () =>
        handle.result(),
      );
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

/**
 * The SDK observes the signal during a call, but not while it waits to repeat a
 * failed call.
 */
function unlessAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T | undefined> {
  const done = new AbortController();
  const aborted = once(signal, 'abort', { signal: done.signal }).then(
    () => undefined,
    () => undefined,
  );
  return Promise.race([work, aborted]).finally(() => done.abort());
}

function endOf({
  cause,
}: WorkflowFailedError):
  | { state: 'failed'; reason: string }
  | { state: 'cancelled' } {
  if (cause instanceof CancelledFailure) return { state: 'cancelled' };
  if (cause instanceof TerminatedFailure)
    return {
      state: 'failed',
      reason: 'the workflow was terminated in Temporal',
    };
  if (cause instanceof TimeoutFailure)
    return { state: 'failed', reason: 'the workflow timed out' };
  if (cause instanceof ApplicationFailure)
    return { state: 'failed', reason: terminalText(cause.message) };
  return {
    state: 'failed',
    reason: 'the workflow failed; see the Temporal UI for the reason',
  };
}

/**
 * How one kind of workflow is followed. `K`: what is known of it; `S`: its
 * summary; `V`: the view that is shown.
 */
export interface Following<K, S, V> {
  handle: WatchedWorkflow<S> & {
    describe(): Promise<{ status: { name: string } }>;
  };
  /** What is known before the first read. */
  nothing: K;
  /** Reads the current state from the workflow and the exchange. */
  read(known: K, signal?: AbortSignal): Promise<K>;
  /** Adds how the workflow ended, and what can only be read then. */
  addEnd(known: K, end: WorkflowEnd<S>, signal?: AbortSignal): Promise<K>;
  view(known: K): V;
}

/**
 * Follows a workflow until it ends; `onChange` receives each new view. Workers,
 * Temporal and the exchange may be unavailable in between. Returns the last
 * view. Throws WorkflowNotFoundError when Temporal does not know the workflow.
 */
export async function followWorkflow<K, S, V>(
  { handle, nothing, read, addEnd, view }: Following<K, S, V>,
  onChange: (view: V) => void,
  { pace = new Pace(), signal }: FollowOptions,
): Promise<V> {
  const done = new AbortController();
  const stop =
    signal === undefined ? done.signal : anySignal([signal, done.signal]);
  const ended = new AbortController();
  const end = awaitEnd(handle, stop).finally(() => ended.abort());
  // Awaited below; until then a rejection must not count as unhandled.
  end.catch(() => undefined);
  const untilEnd = anySignal([stop, ended.signal]);
  let known = nothing;
  let shown = '';
  const show = (): boolean => {
    const now = view(known);
    const isNew = JSON.stringify(now) !== shown;
    shown = JSON.stringify(now);
    if (isNew) onChange(now);
    return isNew;
  };
  try {
    let delayMs: number | undefined;
    while (!untilEnd.aborted) {
      known = await read(known, untilEnd);
      if (untilEnd.aborted) break;
      delayMs = nextDelayMs(delayMs, show());
      await pace.turn(delayMs, untilEnd);
    }
    const howEnded = await end;
    if (howEnded !== undefined) known = await addEnd(known, howEnded, signal);
    show();
    return view(known);
  } finally {
    done.abort();
  }
}

/**
 * Reads the state of a workflow once. Throws WorkflowNotFoundError when
 * Temporal does not know it, and other errors of Temporal's client when
 * Temporal cannot be reached.
 */
export async function readWorkflowOnce<K, S, V>({
  handle,
  nothing,
  read,
  addEnd,
  view,
}: Following<K, S, V>): Promise<V> {
  const { status } = await handle.describe();
  const known = await read(nothing);
  if (status.name === 'RUNNING' || status.name === 'PAUSED') return view(known);
  const end = await awaitEnd(handle, new AbortController().signal);
  return view(end === undefined ? known : await addEnd(known, end));
}
