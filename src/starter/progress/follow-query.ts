import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { QueryReader } from './look-at-query.ts';
import { nextDelayMs, Pace } from './pace.ts';
import type { QueryView } from './query-view.ts';

export interface FollowOptions {
  /** Shared by those who follow at the same time. */
  pace?: Pace;
  /** Ends the following, never the work: the last view is given, its state `running`. */
  signal?: AbortSignal;
}

/**
 * Looks at a query until it has ended; `onChange` gets each new state. An exchange that does not answer for a while
 * is asked again. Throws ExchangeCallError when it refuses to answer (unknown query, key not accepted).
 */
export async function followQuery(
  client: ExchangeClient,
  requestId: string,
  onChange: (view: QueryView) => void,
  { pace = new Pace(), signal }: FollowOptions = {},
): Promise<QueryView> {
  const reader = new QueryReader(client);
  let view: QueryView = { requestId, state: 'running', sources: [], timeline: [] };
  let delayMs: number | undefined;
  const isOver = () => signal?.aborted === true;
  while (!isOver()) {
    const before = view;
    let waitMs = 0;
    try {
      view = await reader.look(requestId, signal);
    } catch (error) {
      if (isOver()) break;
      if (!(error instanceof ExchangeCallError) || !isPassing(error)) throw error;
      view = { ...before, problem: `the exchange does not answer (${error.message}); asking again` };
      waitMs = error.retryAfterMs ?? 0;
    }
    const changed = JSON.stringify(view) !== JSON.stringify(before);
    if (changed) onChange(view);
    if (view.state !== 'running') return view;
    delayMs = nextDelayMs(delayMs, changed);
    await pace.turn(Math.max(delayMs, waitMs), signal);
  }
  return view;
}

/** What the next look may do better. */
export const isPassing = ({ kind }: ExchangeCallError): boolean =>
  kind === 'unavailable' || kind === 'rate-limited';
