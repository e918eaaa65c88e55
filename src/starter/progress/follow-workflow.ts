import { anySignal } from '../../lib/timeout-signal.ts';
import { nextDelayMs, Pace } from './pace.ts';
import type { FollowOptions } from './poll-exchange.ts';
import { awaitEnd, type WatchedWorkflow, type WorkflowEnd } from './workflow-state.ts';

/** How one kind of workflow is followed. `K`: what is known of it; `S`: its summary; `V`: the view that is shown. */
export interface Following<K, S, V> {
  handle: WatchedWorkflow<S> & { describe(): Promise<{ status: { name: string } }> };
  /** What is known before the first look. */
  nothing: K;
  /** Reads the current state from the workflow and the exchange. */
  look(known: K, signal?: AbortSignal): Promise<K>;
  /** Adds how the workflow ended, and what can only be read then. */
  addEnd(known: K, end: WorkflowEnd<S>, signal?: AbortSignal): Promise<K>;
  view(known: K): V;
}

/**
 * Follows a workflow until it ends; `onChange` receives each new view. Workers, Temporal and the exchange may be
 * unavailable in between. Returns the last view. Throws WorkflowNotFoundError when Temporal does not know the workflow.
 */
export async function followWorkflow<K, S, V>(
  { handle, nothing, look, addEnd, view }: Following<K, S, V>,
  onChange: (view: V) => void,
  { pace = new Pace(), signal }: FollowOptions,
): Promise<V> {
  const done = new AbortController();
  const stop = signal === undefined ? done.signal : anySignal([signal, done.signal]);
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
      known = await look(known, untilEnd);
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
 * Reads the state of a workflow once. Throws WorkflowNotFoundError when Temporal does not know it, and other errors of
 * Temporal's client when Temporal cannot be reached.
 */
export async function lookAtWorkflow<K, S, V>({
  handle,
  nothing,
  look,
  addEnd,
  view,
}: Following<K, S, V>): Promise<V> {
  const { status } = await handle.describe();
  const known = await look(nothing);
  if (status.name === 'RUNNING' || status.name === 'PAUSED') return view(known);
  const end = await awaitEnd(handle, new AbortController().signal);
  return view(end === undefined ? known : await addEnd(known, end));
}
