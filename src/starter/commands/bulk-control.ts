import { join } from 'node:path';
import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { BULK_ONBOARDING_MESSAGES } from '../../contract/bulk-onboarding.ts';
import { EXIT } from '../../lib/exit-codes.ts';
import type { BulkOnboardingHandle } from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import { isPausedInTemporal } from '../../temporal/open-runs.ts';
import { RefusedError } from '../errors.ts';
import { prepareOutFolder } from '../output/out-folder.ts';
import { bulkRows, followBulk, readBulk } from '../progress/bulk-view.ts';
import {
  type BulkOnboardings,
  openBulkOnboardings,
} from '../target/onboardings.ts';
import type { CommandResult } from '../terminal.ts';
import {
  type CommandContext,
  endOfFollowing,
  type FollowingOptions,
  type StarterCommand,
  type StarterCommandOptions,
} from './command.ts';
import { bulkResult, type ReportedBulk, saveOutcome } from './report-bulk.ts';

const UPDATE_TIMEOUT_MS = 60_000;

interface Job {
  jobId: string;
  workflowId: string;
  handle: BulkOnboardingHandle;
  bulks: BulkOnboardings;
}

/**
 * Shows the state of a bulk onboarding; with `out`, saves its result files into
 * that folder.
 */
export const bulkStatus: StarterCommand<
  [string, StarterCommandOptions & { out?: string }]
> = async (jobId, { out }, context) => {
  if (out !== undefined) await prepareOutFolder(out);
  return withJob(jobId, context, async ({ workflowId, handle, bulks }) => {
    const view = await readBulk(handle, context.target.exchange);
    if (out === undefined || view.outcome === undefined)
      return bulkResult(
        'bulk status',
        { jobId, workflowId, view, out },
        context,
      );
    const saved = await saveOutcome(
      view.outcome,
      join(out, fileNameOf(jobId)),
      bulks.files,
    );
    return bulkResult(
      'bulk status',
      { jobId, workflowId, view, saved },
      context,
    );
  });
};

/**
 * Pauses or resumes the exchange's work on the rows. Throws RefusedError when
 * the bulk onboarding has ended.
 */
export const bulkSteer: StarterCommand<
  ['pause' | 'resume', string, StarterCommandOptions]
> = (how, jobId, _options, context) =>
  withJob(jobId, context, async ({ workflowId, handle }) => {
    try {
      await handle.client.withDeadline(Date.now() + UPDATE_TIMEOUT_MS, () =>
        handle.executeUpdate(BULK_ONBOARDING_MESSAGES[how]),
      );
    } catch (error) {
      if (error instanceof WorkflowUpdateFailedError)
        throw new RefusedError(
          `Cannot ${how} job ${jobId}: ${error.cause?.message ?? 'it was rejected'}.`,
        );
      if (isPausedInTemporal(error))
        throw new RefusedError(
          `Cannot ${how} job ${jobId}: an operator has paused its workflow in Temporal.`,
        );
      throw error;
    }
    const view = await readBulk(handle, context.target.exchange);
    return {
      ...bulkResult(`bulk-${how}`, { jobId, workflowId, view }, context),
      exitCode: EXIT.done,
    };
  });

/**
 * Cancels a bulk onboarding and its request at the exchange; rows that were
 * already processed are kept.
 */
export const bulkCancel: StarterCommand<[string, FollowingOptions]> = (
  jobId,
  options,
  context,
) =>
  withJob(jobId, context, async (job) => {
    const { workflowId, handle, bulks } = job;
    const ended = await endedError(job, context);
    if (ended !== undefined) throw ended;
    await handle.cancel();
    if (!options.wait) {
      const reported = { jobId, workflowId, requested: 'cancelling' as const };
      return {
        ...bulkResult('bulk cancel', reported, context),
        exitCode: EXIT.done,
      };
    }
    const result = await watchBulk(
      'bulk cancel',
      { subject: 'bulk onboarding', jobId, workflowId },
      { timeout: options.timeout, handle, bulks },
      context,
    );
    // It may have ended otherwise before the cancellation took effect.
    return result.document.status === 'cancelled'
      ? { ...result, exitCode: EXIT.done }
      : result;
  });

async function withJob(
  jobId: string,
  context: CommandContext,
  work: (job: Job) => Promise<CommandResult>,
): Promise<CommandResult> {
  const bulks = await openBulkOnboardings(context.target, context.env);
  const job = { jobId, bulks, ...bulks.find(jobId) };
  try {
    return await work(job);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    // Temporal answers alike for an unknown workflow and for an update of one
    // that has ended.
    throw (
      (await endedError(job, context).catch(() => undefined)) ??
      new RefusedError(`There is no bulk onboarding with the job id ${jobId}.`)
    );
  } finally {
    await bulks.close();
  }
}

/**
 * The error for a bulk onboarding that has ended, with the state that `bulk
 * status` shows; undefined while it runs.
 */
async function endedError(
  { jobId, handle }: Job,
  { target }: CommandContext,
): Promise<RefusedError | undefined> {
  const { state } = await readBulk(handle, target.exchange);
  return state === 'running'
    ? undefined
    : new RefusedError(`Job ${jobId} has already ended: ${state}.`);
}

/** A job id is any text; a file name is not. */
const fileNameOf = (jobId: string): string =>
  jobId.replaceAll(/[^\w.-]+/g, '-').replace(/^[.-]+/, '') || 'bulk';

/**
 * Shows a bulk onboarding's progress until it ends or following is stopped.
 * With `output`, saves the result files under names that begin with it.
 */
export const watchBulk: StarterCommand<
  [
    string,
    ReportedBulk & { subject: string; output?: string },
    { timeout?: number; handle: BulkOnboardingHandle; bulks: BulkOnboardings },
  ]
> = async (
  command,
  { subject, output, ...job },
  { timeout, handle, bulks },
  context,
) => {
  const { live } = context.terminal;
  const view = await followBulk(
    handle,
    (now) => live.set(subject, bulkRows(now, live)),
    {
      client: context.target.exchange,
      signal: endOfFollowing(context.terminal, { timeout }),
    },
  );
  const saved =
    view.outcome === undefined || output === undefined
      ? undefined
      : // The results of a dry run must not be taken for those of a real run.
        await saveOutcome(
          view.outcome,
          view.dryRun === true ? `${output}.dry-run` : output,
          bulks.files,
        );
  return bulkResult(command, { ...job, view, saved }, context);
};
