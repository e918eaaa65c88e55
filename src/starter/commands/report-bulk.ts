import { exitCodeOf } from '../exit-codes.ts';
import { workflowLink } from '../links.ts';
import { number } from '../progress/bulk-rows.ts';
import type { BulkView } from '../progress/bulk-view.ts';
import { coloured } from '../progress/rows.ts';
import { renderTable } from '../table.ts';
import type { Target } from '../target/target.ts';
import { type CommandResult, type Terminal, unfinishedExit } from '../terminal.ts';
import type { SavedOutcome } from './save-outcome.ts';

/** One bulk onboarding that a command dealt with. */
export interface ReportedBulk {
  jobId: string;
  workflowId: string;
  /** False when the job had been started before. */
  isNew?: boolean;
  /** Undefined when it was not looked at (--no-wait). */
  view?: BulkView;
  saved?: SavedOutcome;
}

/** A table of the rows, where the files are, and how to go on. */
export function bulkResult(
  command: string,
  { jobId, workflowId, isNew, view, saved }: ReportedBulk,
  { terminal, target }: { terminal: Terminal; target: Target },
): CommandResult {
  const { colors } = terminal.live;
  const state = view?.state ?? 'running';
  const link = linkOf(target, workflowId);
  const known = isNew === false ? ' (this job had been started before)' : '';
  const why = view?.failure ?? view?.problem;
  return {
    exitCode: state === 'running' ? unfinishedExit(terminal.interrupted) : exitCodeOf(state),
    document: {
      command,
      status: view === undefined ? 'started' : state,
      jobId,
      workflowId,
      workflowUrl: link,
      isNew,
      phase: view?.phase,
      paused: view?.paused,
      dryRun: view?.dryRun,
      requestId: view?.requestId,
      counts: view?.counts,
      files: saved,
      webhooksReceived: view?.webhooksReceived,
      failure: view?.failure,
      problem: view?.problem,
    },
    lines: [
      '',
      ...countsTable(view),
      `Job ${jobId}: ${coloured(view === undefined ? 'started' : view.paused ? 'paused' : state, colors)}${known}${why === undefined ? '' : `, ${why}`}`,
      ...(view?.requestId === undefined ? [] : [`  Request:     ${view.requestId}`]),
      ...fileLines(saved, view),
      `  Temporal UI: ${link ?? `workflow ${workflowId}`}`,
      ...howToGoOn(jobId, view, saved),
    ],
  };
}

function countsTable(view: BulkView | undefined): string[] {
  if (view?.counts === undefined) return [];
  const { rows, created, updated, failed, handled } = view.counts;
  const [create, update] =
    view.dryRun === true ? ['Would be created', 'Would be updated'] : ['Created', 'Updated'];
  const cells = view.state === 'running' ? [handled, created, updated, failed] : [created, updated, failed];
  const titles =
    view.state === 'running' ? ['Handled', create, update, 'Failed'] : [create, update, 'Failed'];
  return [...renderTable(['Rows', ...titles], [[number(rows), ...cells.map(number)]]), ''];
}

function fileLines(saved: SavedOutcome | undefined, view: BulkView | undefined): string[] {
  if (saved === undefined) return [];
  return [
    `  Every row:   ${saved.result}`,
    ...(saved.patients === undefined ? [] : [`  Patient ids: ${saved.patients}`]),
    ...(saved.corrections === undefined
      ? []
      : [`  To correct:  ${saved.corrections} (${number(view?.counts?.failed ?? 0)} rows, with reasons)`]),
  ];
}

function howToGoOn(jobId: string, view: BulkView | undefined, saved: SavedOutcome | undefined): string[] {
  if (view === undefined || view.state === 'running')
    return [
      'The work goes on without this terminal. Look at it, and get what came of it, with:',
      `  npm run starter -- bulk-status ${jobId} --out .`,
      ...(view?.paused === true ? [`Go on with: npm run starter -- bulk-resume ${jobId}`] : []),
    ];
  if (view.dryRun === true && view.outcome !== undefined)
    return ['It was a dry run: nothing was created. Without --dry-run the panel goes in.'];
  if (saved?.corrections !== undefined)
    return [
      'Correct those rows in that file and send it: that completes the panel.',
      `  npm run starter -- bulk ${saved.corrections}`,
    ];
  if (view.outcome !== undefined && saved === undefined)
    return [`Get the files with: npm run starter -- bulk-status ${jobId} --out .`];
  return [];
}

const linkOf = ({ ui }: Target, workflowId: string): string | undefined =>
  ui === undefined ? undefined : workflowLink(ui, workflowId);
