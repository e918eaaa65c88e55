import { WorkflowNotFoundError } from '@temporalio/client';
import { RefusedError } from '../errors.ts';
import { parseSubject, type SubjectKind } from '../input/subject.ts';
import { awaitedByOnboarding } from '../progress/awaited.ts';
import { followOnboarding, lookAtOnboarding } from '../progress/follow-onboarding.ts';
import { onboardingRows } from '../progress/rows.ts';
import { findSubject } from '../target/find-subject.ts';
import type { CommandResult } from '../terminal.ts';
import { type CommandContext, endOfFollowing, type FollowingOptions } from './command.ts';
import { followedQuery } from './query.ts';
import { onboardingsResult } from './report-onboarding.ts';
import { queryResult } from './report-query.ts';

export interface StatusOptions extends FollowingOptions {
  as?: SubjectKind;
}

/** Shows the state of a query or an onboarding; with `wait`, follows it until it ends. Throws RefusedError when there is neither. */
export async function status(
  id: string,
  options: StatusOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const found = await findSubject(context.target, parseSubject(id, options.as), context.env);
  if (found.kind === 'query') {
    const view = options.wait ? await followedQuery(found.query.requestId, options, context) : found.query;
    return queryResult('status', view, context, { withTimeline: true });
  }
  const { onboardings, handle, workflowId } = found;
  const { exchange } = context.target;
  const { live } = context.terminal;
  try {
    const view = options.wait
      ? await followOnboarding(
          handle,
          (now) => live.set('onboarding', onboardingRows(now, live.colors), awaitedByOnboarding(now)),
          {
            client: exchange,
            signal: endOfFollowing(context.terminal, options),
          },
        )
      : await lookAtOnboarding(handle, exchange);
    live.close();
    return onboardingsResult('status', [{ workflowId, view }], context);
  } catch (error) {
    throw error instanceof WorkflowNotFoundError ? unknownId() : error;
  } finally {
    await onboardings.close();
  }
}

export const unknownId = (): RefusedError =>
  new RefusedError(
    'There is no query and no onboarding with this id. Bulk onboardings have their own commands, such as bulk-status.',
  );
