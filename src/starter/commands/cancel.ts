import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { SourceType } from '../../contract/primitives.ts';
import type { OnboardingHandle } from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import { RefusedError, UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { parseSubject, type SubjectKind } from '../input/subject.ts';
import { followOnboarding } from '../progress/follow-onboarding.ts';
import { QueryReader } from '../progress/look-at-query.ts';
import { onboardingRows } from '../progress/rows.ts';
import { findSubject } from '../target/find-subject.ts';
import type { CommandResult } from '../terminal.ts';
import { type CommandContext, endOfFollowing, type FollowingOptions } from './command.ts';
import { onboardingsResult } from './report-onboarding.ts';
import { queryResult } from './report-query.ts';
import { explained } from './retry.ts';
import { unknown } from './status.ts';

export interface CancelOptions extends FollowingOptions {
  source?: SourceType;
  as?: SubjectKind;
}

/** Ends a query, one of its sources, or an onboarding; its exit code tells whether it was cancelled. */
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
      throw new UsageError('--source is for a query; give the request id instead of the onboarding.');
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
    const { status } = await handle.describe();
    if (status.name !== 'RUNNING' && status.name !== 'PAUSED')
      throw new RefusedError(`The onboarding has ended: ${status.name.toLowerCase()}.`);
    await handle.cancel();
  } catch (error) {
    throw error instanceof WorkflowNotFoundError ? unknown() : error;
  }
  if (!options.wait)
    return { ...onboardingsResult('cancel', [{ workflowId }], context), exitCode: EXIT.done };
  const view = await followOnboarding(
    handle,
    (now) => live.set('onboarding', onboardingRows(now, live.colors)),
    { client: context.target.exchange, signal: endOfFollowing(context.terminal, options) },
  );
  live.close();
  const result = onboardingsResult('cancel', [{ workflowId, view }], context);
  // It may have come to its end while it was being cancelled.
  return view.state === 'cancelled' ? { ...result, exitCode: EXIT.done } : result;
}
