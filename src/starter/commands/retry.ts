import { randomUUID } from 'node:crypto';
import type { SourceType } from '../../contract/primitives.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { RefusedError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { QueryReader } from '../progress/look-at-query.ts';
import { queryView } from '../progress/query-view.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, FollowingOptions } from './command.ts';
import { watchQuery } from './query.ts';
import { queryResult } from './report-query.ts';

/** Retries one source of a query, while the query runs or after it has ended. Throws RefusedError, ExchangeCallError. */
export async function retry(
  requestId: string,
  source: SourceType,
  options: FollowingOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { exchange } = context.target;
  try {
    const { answer } = await exchange.call(
      'retrySource',
      { params: { requestId, type: source } },
      { idempotencyKey: randomUUID() },
    );
    if (!options.wait)
      return { ...queryResult('retry', queryView(answer, []), context), exitCode: EXIT.done };
  } catch (error) {
    throw await explained(error, requestId, source, context);
  }
  return watchQuery('retry', requestId, options, context);
}

/** Explains a conflict by the state of the query or source; returns every other error unchanged. */
export async function explained(
  error: unknown,
  requestId: string,
  source: SourceType | undefined,
  { target }: CommandContext,
): Promise<unknown> {
  if (!(error instanceof ExchangeCallError) || error.kind !== 'conflict') return error;
  const view = await new QueryReader(target.exchange).look(requestId).catch(() => undefined);
  if (view === undefined) return error;
  if (source === undefined) return new RefusedError(`Query ${requestId} has already ended: ${view.state}.`);
  const state = view.sources.find(({ type }) => type === source)?.state.replace('-', ' ');
  if (state === undefined)
    return new RefusedError(`Query ${requestId} does not include the ${source} source.`);
  return new RefusedError(`Not possible now: in query ${requestId}, the ${source} source is ${state}.`);
}
