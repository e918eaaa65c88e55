import type { BulkOnboardingHandle } from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import { bulkRows } from '../progress/bulk-rows.ts';
import { followBulk } from '../progress/follow-bulk.ts';
import type { BulkOnboardings } from '../target/bulk-onboardings.ts';
import type { CommandResult } from '../terminal.ts';
import { type CommandContext, endOfFollowing } from './command.ts';
import { bulkResult, type ReportedBulk } from './report-bulk.ts';
import { saveOutcome } from './save-outcome.ts';

/**
 * Shows a bulk onboarding's progress until it ends or following is stopped. With `output`, saves the result files under
 * names that begin with it.
 */
export async function watchBulk(
  command: string,
  { subject, output, ...job }: ReportedBulk & { subject: string; output?: string },
  { timeout, handle, bulks }: { timeout?: number; handle: BulkOnboardingHandle; bulks: BulkOnboardings },
  context: CommandContext,
): Promise<CommandResult> {
  const { live } = context.terminal;
  const view = await followBulk(handle, (now) => live.set(subject, bulkRows(now, live)), {
    client: context.target.exchange,
    signal: endOfFollowing(context.terminal, { timeout }),
  });
  live.close();
  const saved =
    view.outcome === undefined || output === undefined
      ? undefined
      : // The results of a dry run must not be taken for those of a real run.
        await saveOutcome(view.outcome, view.dryRun === true ? `${output}.dry-run` : output, bulks.files);
  return bulkResult(command, { ...job, view, saved }, context);
}
