import type { MonitoringKind } from '../../contract/cohort-monitoring.ts';
import { mapAtMost } from '../../lib/at-most.ts';
import { EXIT, type ExitCode } from '../../lib/exit-codes.ts';
import { renderTable } from '../../lib/table.ts';
import { minuteOf } from '../../lib/time.ts';
import type { ExchangeClient } from '../../orchestrator/client/exchange-client.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { workflowLink } from '../../temporal/ui-links.ts';
import {
  type MonitoringRun,
  type MonitoringView,
  monitoringView,
  type RunCounts,
} from '../progress/monitoring-view.ts';
import { terminalText } from '../progress/plain-text.ts';
import { coloured } from '../progress/rows.ts';
import { withMonitorings } from '../target/monitorings.ts';
import type { CommandResult } from '../terminal.ts';
import type {
  CommandContext,
  StarterCommand,
  StarterCommandOptions,
} from './command.ts';

/**
 * Result of a `monitor` command: a table of the monitorings, then the lines of
 * `say`.
 */
export async function monitoringResult(
  command: string,
  views: readonly MonitoringView[],
  { terminal, target }: CommandContext,
  {
    say = [],
    exitCode = EXIT.done,
  }: { say?: readonly string[]; exitCode?: ExitCode } = {},
): Promise<CommandResult> {
  const { colors } = terminal.live;
  const names =
    views.length === 0
      ? new Map<string, string>()
      : await cohortNames(target.exchange);

  const links = views.map(({ scheduleId }) =>
    workflowLink(target.ui, scheduleId, 'schedules'),
  );
  const table = renderTable(
    [
      'Cohort',
      'Name',
      'Source',
      'Frequency',
      'State',
      'Next run',
      'Last run',
      'Result',
    ],
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
      ...views.flatMap(({ kind, note }) =>
        note === undefined ? [] : [`Paused (${kind}): ${note}`],
      ),
      ...say,
      ...(views.length === 1 && links[0] !== undefined
        ? [`Temporal UI: ${links[0]}`]
        : []),
    ],
  };
}

function outcome({ status, counts }: MonitoringRun): string {
  if (counts === undefined) return status;
  const { started, skipped, skippedBecause, failed } = counts;
  const reasons = Object.entries(skippedBecause)
    .filter(([, count]) => count > 0)
    .map(
      ([reason, count]) =>
        `${count} ${SKIP_REASONS[reason as keyof typeof skippedBecause]}`,
    );
  const why = reasons.length === 0 ? '' : ` (${reasons.join(', ')})`;
  return `${status}: ${started} started, ${skipped} skipped${why}, ${failed} failed`;
}

const SKIP_REASONS: Readonly<
  Record<keyof RunCounts['skippedBecause'], string>
> = {
  alreadyAsked: 'already queried in this period',
  optedOut: 'opted out',
  gone: 'deleted',
};

const minuteOrNone = (at: string | undefined): string =>
  at === undefined ? '' : minuteOf(new Date(at));

/**
 * The names of all cohorts, by id; none while the exchange does not answer,
 * because a list of schedules does not need it.
 */
async function cohortNames(
  exchange: ExchangeClient,
): Promise<ReadonlyMap<string, string>> {
  try {
    const { answer } = await exchange.call('listCohorts', {});
    return new Map(
      answer.cohorts.map(({ id, name }) => [id, terminalText(name)]),
    );
  } catch (error) {
    if (error instanceof ExchangeCallError) return new Map();
    throw error;
  }
}

interface MonitorListOptions extends StarterCommandOptions {
  kind?: MonitoringKind;
}

const AT_ONCE = 8;

/**
 * Lists the monitorings of the exchange, or of one cohort: the next run, and
 * the result of the last run.
 */
export const monitorList: StarterCommand<
  [string | undefined, MonitorListOptions]
> = (cohortId, { kind }, context) =>
  withMonitorings(context, async (monitorings) => {
    const ids = (await monitorings.list()).filter(
      (id) =>
        (cohortId ?? id.cohortId) === id.cohortId &&
        (kind ?? id.kind) === id.kind,
    );
    const views = await mapAtMost(ids, AT_ONCE, async (id) => {
      const found = await monitorings.find(id);
      return found && monitoringView(monitorings.temporal, id, found);
    });
    const there = views.filter((view) => view !== undefined);
    return monitoringResult('monitor list', there, context, {
      say:
        there.length === 0
          ? [
              'No scheduled monitoring found. Start one with: npm run starter -- monitor create <cohortId> <source>',
            ]
          : [],
    });
  });
