import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { BULK_ONBOARDING_MESSAGES } from '../../contract/bulk-onboarding.ts';
import type { BulkOnboardingHandle } from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import { RefusedError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { lookAtBulk } from '../progress/follow-bulk.ts';
import { type BulkOnboardings, openBulkOnboardings } from '../target/bulk-onboardings.ts';
import type { CommandResult } from '../terminal.ts';
import { followToEnd } from './bulk-follow.ts';
import type { CommandContext, CommonOptions, FollowingOptions } from './command.ts';
import { bulkResult } from './report-bulk.ts';
import { saveOutcome } from './save-outcome.ts';

const UPDATE_TIMEOUT_MS = 60_000;

interface Job {
  jobId: string;
  workflowId: string;
  handle: BulkOnboardingHandle;
  bulks: BulkOnboardings;
}

/** How a bulk onboarding stands now; with `out` its files are saved into that folder. */
export const bulkStatus = (
  jobId: string,
  { out }: CommonOptions & { out?: string },
  context: CommandContext,
): Promise<CommandResult> =>
  withJob(jobId, context, async ({ workflowId, handle, bulks }) => {
    const view = await lookAtBulk(handle, context.target.exchange);
    if (out === undefined || view.outcome === undefined)
      return bulkResult('bulk-status', { jobId, workflowId, view }, context);
    await mkdir(out, { recursive: true });
    const saved = await saveOutcome(view.outcome, join(out, fileNameOf(jobId)), bulks.files);
    return bulkResult('bulk-status', { jobId, workflowId, view, saved }, context);
  });

/** Pauses or resumes the exchange's work on the rows. */
export const bulkSteer = (
  how: 'pause' | 'resume',
  jobId: string,
  _options: CommonOptions,
  context: CommandContext,
): Promise<CommandResult> =>
  withJob(jobId, context, async ({ workflowId, handle }) => {
    try {
      await handle.client.withDeadline(Date.now() + UPDATE_TIMEOUT_MS, () =>
        handle.executeUpdate(BULK_ONBOARDING_MESSAGES[how]),
      );
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError)
        throw new RefusedError(`Not possible now: ${error.cause?.message ?? 'it was refused'}.`);
      throw error;
    }
    const view = await lookAtBulk(handle, context.target.exchange);
    return { ...bulkResult(`bulk-${how}`, { jobId, workflowId, view }, context), exitCode: EXIT.done };
  });

/** Ends a bulk onboarding and its request; rows that were handled stay. */
export const bulkCancel = (
  jobId: string,
  options: FollowingOptions,
  context: CommandContext,
): Promise<CommandResult> =>
  withJob(jobId, context, async ({ workflowId, handle, bulks }) => {
    const { status } = await handle.describe();
    if (status.name !== 'RUNNING' && status.name !== 'PAUSED')
      throw new RefusedError(`The bulk onboarding has ended: ${status.name.toLowerCase()}.`);
    await handle.cancel();
    if (!options.wait)
      return { ...bulkResult('bulk-cancel', { jobId, workflowId }, context), exitCode: EXIT.done };
    const result = await followToEnd(
      'bulk-cancel',
      { subject: 'bulk onboarding', jobId, workflowId },
      { timeout: options.timeout, handle, bulks },
      context,
    );
    // It may have come to its end while it was being cancelled.
    return result.document.status === 'cancelled' ? { ...result, exitCode: EXIT.done } : result;
  });

async function withJob(
  jobId: string,
  { target, env }: CommandContext,
  work: (job: Job) => Promise<CommandResult>,
): Promise<CommandResult> {
  const bulks = await openBulkOnboardings(target, env);
  try {
    return await work({ jobId, bulks, ...bulks.find(jobId) });
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      throw new RefusedError('No bulk onboarding of that job, or none that runs, is known here.');
    throw error;
  } finally {
    await bulks.close();
  }
}

/** A job id is any text. */
const fileNameOf = (jobId: string): string =>
  jobId.replaceAll(/[^\w.-]+/g, '-').replace(/^[.-]+/, '') || 'bulk';
