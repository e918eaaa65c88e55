import { WorkflowNotFoundError } from '@temporalio/client';
import { RefusedError } from '../errors.ts';
import { parseSubject, type SubjectKind } from '../input/subject.ts';
import { lookAtOnboarding } from '../progress/follow-onboarding.ts';
import { findSubject } from '../target/find-subject.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';
import { onboardingsResult } from './report-onboarding.ts';
import { queryResult } from './report-query.ts';

export interface StatusOptions extends CommonOptions {
  as?: SubjectKind;
}

/** Shows the state of a query or an onboarding. Throws RefusedError when there is neither. */
export async function status(
  id: string,
  options: StatusOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const found = await findSubject(context.target, parseSubject(id, options.as), context.env);
  if (found.kind === 'query') return queryResult('status', found.query, context, { withTimeline: true });
  const { onboardings, handle, workflowId } = found;
  try {
    const view = await lookAtOnboarding(handle, context.target.exchange);
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
