import { randomUUID } from 'node:crypto';
import type { SourceType } from '../../contract/primitives.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { EXIT } from '../exit-codes.ts';
import { requestedSources } from '../input/sources.ts';
import { awaitedByQuery } from '../progress/awaited.ts';
import { QueryReader } from '../progress/look-at-query.ts';
import { type FollowOptions, pollExchange } from '../progress/poll-exchange.ts';
import { type QueryView, queryView } from '../progress/query-view.ts';
import { queryRows } from '../progress/rows.ts';
import type { CommandResult } from '../terminal.ts';
import { type CommandContext, endOfFollowing, type FollowingOptions } from './command.ts';
import { queryResult } from './report-query.ts';

export interface QueryOptions extends FollowingOptions {
  sources: SourceType[];
  realtime?: boolean;
  purpose: 'treatment' | 'ias';
}

/** Starts a network query for a patient of the exchange (E2), and follows it until it ends (E3). */
export async function query(
  patientId: string,
  options: QueryOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { answer } = await context.target.exchange.call(
    'startNetworkQuery',
    {
      query: { patientId, purposeOfUse: options.purpose },
      body: { sources: requestedSources(options) },
    },
    { idempotencyKey: randomUUID() },
  );
  const started = queryView(answer, []);
  if (!options.wait) return { ...queryResult('query', started, context), exitCode: EXIT.done };
  return watchQuery('query', started.requestId, options, context);
}

/** Shows a query's progress until it ends or following is stopped. */
export async function watchQuery(
  command: string,
  requestId: string,
  options: { timeout?: number },
  context: CommandContext,
): Promise<CommandResult> {
  return queryResult(command, await followedQuery(requestId, options, context), context);
}

/** The state of a query when it ended or following was stopped; shows its progress until then. */
export async function followedQuery(
  requestId: string,
  options: { timeout?: number },
  context: CommandContext,
): Promise<QueryView> {
  const { live } = context.terminal;
  const view = await followQuery(
    context.target.exchange,
    requestId,
    (now) => live.set(`query ${requestId}`, queryRows(now, live.colors), awaitedByQuery(now)),
    { signal: endOfFollowing(context.terminal, options) },
  );
  live.close();
  return view;
}

/**
 * Follows a query until it ends; `onChange` receives each new state. Returns the last state. Throws ExchangeCallError when
 * the exchange rejects a request (unknown query, invalid key).
 */
async function followQuery(
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
