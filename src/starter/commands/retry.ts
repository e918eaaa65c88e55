import { randomUUID } from 'node:crypto';
import type { SourceType } from '../../contract/primitives.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { RefusedError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { QueryReader } from '../progress/look-at-query.ts';
import { queryView } from '../progress/query-view.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, FollowingOptions } from './command.ts';
import { followToEnd } from './query.ts';
import { queryResult } from './report-query.ts';

/** Takes up one source of a query again, while the query runs or after its end. */
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
  return followToEnd('retry', requestId, options, context);
}

/** A conflict is answered by how the source stands. */
export async function explained(
  error: unknown,
  requestId: string,
  source: SourceType | undefined,
  { target }: CommandContext,
): Promise<unknown> {
  if (!(error instanceof ExchangeCallError) || error.kind !== 'conflict') return error;
  const view = await new QueryReader(target.exchange).look(requestId).catch(() => undefined);
  if (view === undefined) return error;
  if (source === undefined) return new RefusedError(`Query ${requestId} has ended: ${view.state}.`);
  const state = view.sources.find(({ type }) => type === source)?.state.replace('-', ' ') ?? 'not part of it';
  return new RefusedError(`Not possible now: of query ${requestId} the ${source} source is ${state}.`);
}
