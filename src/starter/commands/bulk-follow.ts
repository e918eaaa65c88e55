import type { BulkOnboardingHandle } from '../../orchestrator/bulk-onboarding/start-bulk-onboarding.ts';
import { bulkRows } from '../progress/bulk-rows.ts';
import { followBulk } from '../progress/follow-bulk.ts';
import type { BulkOnboardings } from '../target/bulk-onboardings.ts';
import type { CommandResult } from '../terminal.ts';
import { type CommandContext, endOfFollowing } from './command.ts';
import { bulkResult, type ReportedBulk } from './report-bulk.ts';
import { saveOutcome } from './save-outcome.ts';

/** Shows a bulk onboarding's progress until it ends or nobody wants to see it any more, and saves what came of it. */
export async function followToEnd(
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
      : // What would become of the rows is another thing than what became of them.
        await saveOutcome(view.outcome, view.dryRun === true ? `${output}.dry-run` : output, bulks.files);
  return bulkResult(command, { ...job, view, saved }, context);
}
