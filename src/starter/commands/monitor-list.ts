import type { MonitoringKind } from '../../contract/cohort-monitoring.ts';
import { mapAtMost } from '../../lib/at-most.ts';
import { monitoringView } from '../progress/monitoring-view.ts';
import { withMonitorings } from '../target/monitorings.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';
import { monitoringResult } from './monitor-report.ts';

export interface MonitorListOptions extends CommonOptions {
  kind?: MonitoringKind;
}

const AT_ONCE = 8;

/** Lists the monitorings of the exchange, or of one cohort: the next run, and the result of the last run. */
export const monitorList = (
  cohortId: string | undefined,
  { kind }: MonitorListOptions,
  context: CommandContext,
): Promise<CommandResult> =>
  withMonitorings(context, async (monitorings) => {
    const ids = (await monitorings.list()).filter(
      (id) => (cohortId ?? id.cohortId) === id.cohortId && (kind ?? id.kind) === id.kind,
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
