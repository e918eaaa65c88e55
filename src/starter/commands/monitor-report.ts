import { minuteOf } from '../../lib/utc-time.ts';
import type { ExitCode } from '../exit-codes.ts';
import { EXIT } from '../exit-codes.ts';
import { scheduleLink } from '../links.ts';
import type { MonitoringRun, MonitoringView, RunCounts } from '../progress/monitoring-view.ts';
import { coloured } from '../progress/rows.ts';
import { renderTable } from '../table.ts';
import { cohortNames } from '../target/cohort-names.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext } from './command.ts';

/** Result of a `monitor` command: a table of the monitorings, then the lines of `say`. */
export async function monitoringResult(
  command: string,
  views: readonly MonitoringView[],
  { terminal, target }: CommandContext,
  { say = [], exitCode = EXIT.done }: { say?: readonly string[]; exitCode?: ExitCode } = {},
): Promise<CommandResult> {
  const { colors } = terminal.live;
  const names = views.length === 0 ? new Map<string, string>() : await cohortNames(target.exchange);

  const links = views.map(({ scheduleId }) =>
    target.ui === undefined ? undefined : scheduleLink(target.ui, scheduleId),
  );
  const table = renderTable(
    ['Cohort', 'Name', 'Source', 'Frequency', 'State', 'Next run', 'Last run', 'Result'],
    views.map((view) => [
      view.cohortId,
      names.get(view.cohortId) ?? '',
      view.kind,
      view.frequency ?? '',
      coloured(view.state, colors),
      minuteOrNone(view.nextRunAt),
      minuteOrNone(view.lastRun?.startedAt),
      view.lastRun === undefined ? '' : outcome(view.lastRun),
    ]),
  );
  return {
    exitCode,
    document: {
      command,
      monitorings: views.map((view, index) => ({
        ...view,
        cohortName: names.get(view.cohortId),
        scheduleUrl: links[index],
      })),
    },
    lines: [
      ...(views.length === 0 ? [] : ['', ...table, '']),
      ...views.flatMap(({ kind, note }) => (note === undefined ? [] : [`Paused (${kind}): ${note}`])),
      ...say,
      ...(views.length === 1 && links[0] !== undefined ? [`Temporal UI: ${links[0]}`] : []),
    ],
  };
}

function outcome({ status, counts }: MonitoringRun): string {
  if (counts === undefined) return status;
  const { started, skipped, skippedBecause, failed } = counts;
  const reasons = Object.entries(skippedBecause)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${count} ${SKIP_REASONS[reason as keyof typeof skippedBecause]}`);
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  return `${status}: ${started} started, ${skipped} skipped${why}, ${failed} failed`;
}

const SKIP_REASONS: Readonly<Record<keyof RunCounts['skippedBecause'], string>> = {
  alreadyAsked: 'already queried in this period',
  optedOut: 'opted out',
  gone: 'deleted',
};

const minuteOrNone = (at: string | undefined): string => (at === undefined ? '' : minuteOf(new Date(at)));
