import { networkQueryWorkflowId } from '../../contract/temporal.ts';
import { exitCodeOf } from '../../lib/exit-codes.ts';
import type { LiveLines } from '../../lib/live-lines.ts';
import { renderTable } from '../../lib/table.ts';
import { utcCell } from '../../lib/utc-time.ts';
import { workflowLink } from '../links.ts';
import type { QueryView } from '../progress/query-view.ts';
import { coloured } from '../progress/rows.ts';
import type { Target } from '../target/target.ts';
import { type CommandResult, howToFollow, howToRetry, type Terminal, unfinishedExit } from '../terminal.ts';

type Colors = LiveLines['colors'];

/** Result of a command about one query: a table of its sources, optionally its timeline, and the next command. */
export function queryResult(
  command: string,
  view: QueryView,
  { terminal, target }: { terminal: Terminal; target: Target },
  options: { withTimeline?: boolean } = {},
): CommandResult {
  const { colors } = terminal.live;
  const link = queryLink(target, view.requestId);
  return {
    exitCode: view.state === 'running' ? unfinishedExit(terminal.interrupted) : exitCodeOf(view.state),
    document: {
      command,
      requestId: view.requestId,
      status: view.state,
      sources: view.sources,
      ...(options.withTimeline === true ? { timeline: view.timeline } : {}),
      problem: view.problem,
      workflowUrl: link,
    },
    lines: [
      '',
      ...querySourcesTable(view, colors),
      '',
      ...(options.withTimeline === true ? [...timelineLines(view, colors), ''] : []),
      `Query ${view.requestId}: ${coloured(view.state, colors)}`,
      ...(link === undefined ? [] : [`Temporal UI: ${link}`]),
      ...(view.state === 'running' && options.withTimeline !== true ? [howToFollow(view.requestId)] : []),
      ...(view.state === 'running'
        ? []
        : view.sources
            .filter(({ state }) => state === 'failed')
            .map(({ type }) => howToRetry(view.requestId, type))),
    ],
  };
}

/** Address of the query's workflow in the Temporal UI; undefined when the UI is not known. */
export const queryLink = ({ ui }: Target, requestId: string): string | undefined =>
  ui === undefined ? undefined : workflowLink(ui, networkQueryWorkflowId(requestId));

function querySourcesTable(view: QueryView, colors: Colors): string[] {
  return renderTable(
    ['Source', 'Outcome', 'Attempts', 'Detail'],
    view.sources.map(({ type, state, attempts, note = '' }) => [
      type,
      coloured(state, colors),
      String(attempts),
      note,
    ]),
  );
}

export function timelineLines({ timeline }: QueryView, colors: Colors): string[] {
  return renderTable(
    ['Time (UTC)', 'Source', 'Event'],
    timeline.map(({ at, source, attempt, kind, message }) => [
      utcCell(at),
      source === undefined ? '' : `${source}${attempt === undefined ? '' : ` #${attempt}`}`,
      `${message} ${colors.dim(`(${kind})`)}`,
    ]),
  );
}
