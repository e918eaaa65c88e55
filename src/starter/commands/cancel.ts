import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { SourceType } from '../../contract/primitives.ts';
import type { OnboardingHandle } from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import { RefusedError, UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { parseSubject, type SubjectKind } from '../input/subject.ts';
import { awaitedByOnboarding } from '../progress/awaited.ts';
import { followOnboarding, lookAtOnboarding } from '../progress/follow-onboarding.ts';
import { QueryReader } from '../progress/look-at-query.ts';
import { onboardingRows } from '../progress/rows.ts';
import { findSubject } from '../target/find-subject.ts';
import type { CommandResult } from '../terminal.ts';
import { type CommandContext, endOfFollowing, type FollowingOptions } from './command.ts';
import { onboardingsResult } from './report-onboarding.ts';
import { queryResult } from './report-query.ts';
import { explained } from './retry.ts';
import { unknownId } from './status.ts';

export interface CancelOptions extends FollowingOptions {
  source?: SourceType;
  as?: SubjectKind;
}

/** Cancels a query, one source of a query, or an onboarding. The exit code is 0 when it was cancelled. */
export async function cancel(
  id: string,
  options: CancelOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const subject = parseSubject(id, options.as ?? (options.source === undefined ? undefined : 'query'));
  const found = await findSubject(context.target, subject, context.env);
  if (found.kind === 'query') return cancelQuery(found.query.requestId, options, context);
  const { onboardings, handle, workflowId } = found;
  try {
    if (options.source !== undefined)
      throw new UsageError(
        '--source applies to queries only: pass the request id of the query instead of the onboarding.',
      );
    return await cancelOnboarding(handle, workflowId, options, context);
  } finally {
    await onboardings.close();
  }
}

async function cancelQuery(
  requestId: string,
  { source }: CancelOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { exchange } = context.target;
  const once = { idempotencyKey: randomUUID() };
  try {
    if (source === undefined) await exchange.call('cancelNetworkQuery', { params: { requestId } }, once);
    else await exchange.call('giveUpSource', { params: { requestId, type: source } }, once);
  } catch (error) {
    throw await explained(error, requestId, source, context);
  }
  const view = await new QueryReader(exchange).look(requestId);
  return { ...queryResult('cancel', view, context), exitCode: EXIT.done };
}

async function cancelOnboarding(
  handle: OnboardingHandle,
  workflowId: string,
  options: CancelOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { live } = context.terminal;
  try {
    const { state } = await lookAtOnboarding(handle, context.target.exchange);
    if (state !== 'running') throw new RefusedError(`The onboarding has already ended: ${state}.`);
    await handle.cancel();
  } catch (error) {
    throw error instanceof WorkflowNotFoundError ? unknownId() : error;
  }
  if (!options.wait) {
    const reported = { workflowId, requested: 'cancelling' as const };
    return { ...onboardingsResult('cancel', [reported], context), exitCode: EXIT.done };
  }
  const view = await followOnboarding(
    handle,
    (now) => live.set('onboarding', onboardingRows(now, live.colors), awaitedByOnboarding(now)),
    { client: context.target.exchange, signal: endOfFollowing(context.terminal, options) },
  );
  live.close();
  const result = onboardingsResult('cancel', [{ workflowId, view }], context);
  // It may have ended otherwise before the cancellation took effect.
  return view.state === 'cancelled' ? { ...result, exitCode: EXIT.done } : result;
}
