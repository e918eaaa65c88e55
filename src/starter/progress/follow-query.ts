import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { QueryReader } from './look-at-query.ts';
import { type FollowOptions, pollExchange } from './poll-exchange.ts';
import type { QueryView } from './query-view.ts';

/**
 * Follows a query until it ends; `onChange` receives each new state. Returns the last state. Throws ExchangeCallError when
 * the exchange rejects a request (unknown query, invalid key).
 */
export async function followQuery(
  client: ExchangeClient,
  requestId: string,
  onChange: (view: QueryView) => void,
  options: FollowOptions = {},
): Promise<QueryView> {
  const reader = new QueryReader(client);
  const first: QueryView = { requestId, state: 'running', sources: [], timeline: [] };
  let last = first;
  await pollExchange(first, (signal) => reader.look(requestId, signal), {
    ...options,
    isRunning: ({ state }) => state === 'running',
    onChange: (view, problem) => {
      last = { ...view, problem };
      onChange(last);
    },
  });
  return last;
}
