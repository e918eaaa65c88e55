import type { BulkResult, FileRef } from '../../contract/bulk-onboarding.ts';
import { exitCodeOf } from '../../lib/exit-codes.ts';
import { renderTable } from '../../lib/table.ts';
import type { FileStore } from '../../orchestrator/bulk-onboarding/file-store.ts';
import { workflowLink } from '../../temporal/ui-links.ts';
import { saveAside } from '../output/out-folder.ts';
import { type BulkView, number } from '../progress/bulk-view.ts';
import { coloured } from '../progress/rows.ts';
import type { Target } from '../target/target.ts';
import {
  type CommandResult,
  type Terminal,
  unfinishedExit,
} from '../terminal.ts';

/** One bulk onboarding that a command reports. */
export interface ReportedBulk {
  jobId: string;
  workflowId: string;
  /** False when the job had been started before. */
  isNew?: boolean;
  /** Undefined when its state was not read (--no-wait). */
  view?: BulkView;
  /** Without a view: what this command requested; default `started`. */
  requested?: 'started' | 'cancelling';
  saved?: SavedOutcome;
  /** Folder for the result files, if the command was given one. */
  out?: string;
}

/**
 * Result of a `bulk` command: a table of the row counts, the paths of the
 * files, and the next command.
 */
export function bulkResult(
  command: string,
  {
    jobId,
    workflowId,
    isNew,
    view,
    requested = 'started',
    saved,
    out = '.',
  }: ReportedBulk,
  { terminal, target }: { terminal: Terminal; target: Target },
): CommandResult {
  const { colors } = terminal.live;
  const state = view?.state ?? 'running';
  const link = workflowLink(target.ui, workflowId);
  const known = isNew === false ? ' (this job had been started before)' : '';
  const why = view?.failure ?? view?.problem;
  return {
    exitCode:
      state === 'running'
        ? unfinishedExit(terminal.interrupted)
        : exitCodeOf(state),
    document: {
      command,
      status: view === undefined ? requested : state,
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
      `Job ${jobId}: ${coloured(view === undefined ? requested : stateInWords(view), colors)}${known}${why === undefined ? '' : `, ${why}`}`,
      ...(view?.requestId === undefined
        ? []
        : [`  Request:     ${view.requestId}`]),
      ...fileLines(saved, view),
      `  Temporal UI: ${link ?? `workflow ${workflowId}`}`,
      ...nextSteps(`bulk status ${jobId} --out ${out}`, { jobId, view, saved }),
    ],
  };
}

/** A running job may be paused, or on its way to `cancelled`. */
const stateInWords = ({ state, paused, phase }: BulkView): string => {
  if (state !== 'running') return state;
  if (phase === 'cancelling') return 'cancelling';
  return paused ? 'paused' : state;
};

function countsTable(view: BulkView | undefined): string[] {
  if (view?.counts === undefined) return [];
  const { rows, created, updated, failed, handled } = view.counts;
  const [create, update] =
    view.dryRun === true
      ? ['Would be created', 'Would be updated']
      : ['Created', 'Updated'];
  const titles = ['Rows', 'Processed', create, update, 'Failed'];
  const cells = [rows, handled, created, updated, failed].map(number);
  const shown = (_: string, index: number) =>
    index !== 1 || view.state === 'running';
  return [...renderTable(titles.filter(shown), [cells.filter(shown)]), ''];
}

function fileLines(
  saved: SavedOutcome | undefined,
  view: BulkView | undefined,
): string[] {
  if (saved === undefined) return [];
  return [
    `  All rows:    ${saved.result}`,
    ...(saved.patients === undefined
      ? []
      : [`  Patient ids: ${saved.patients}`]),
    ...(saved.corrections === undefined
      ? []
      : [
          `  To correct:  ${saved.corrections} (failed rows with reasons: ${number(view?.counts?.failed ?? 0)})`,
        ]),
  ];
}

function nextSteps(
  toSave: string,
  { jobId, view, saved }: Pick<ReportedBulk, 'jobId' | 'view' | 'saved'>,
): string[] {
  if (view?.paused === true)
    return [`Resume it with: npm run starter -- bulk resume ${jobId}`];
  if (view === undefined || view.state === 'running')
    return [
      'The work continues without this terminal. Check on it, and save the result files, with:',
      `  npm run starter -- ${toSave}`,
    ];
  if (view.dryRun === true && view.outcome !== undefined)
    return [
      'This was a dry run: nothing was created. Run the command without --dry-run to import the panel.',
    ];
  if (saved?.corrections !== undefined)
    return [
      'Correct the rows in that file, then send it to complete the panel:',
      `  npm run starter -- bulk ${saved.corrections}`,
    ];
  if (view.outcome !== undefined && saved === undefined)
    return [`Save the result files with: npm run starter -- ${toSave}`];
  return [];
}

/** Paths of the result files of a bulk onboarding. */
interface SavedOutcome {
  /** The exchange's result CSV: all rows with patient id, status and reason. */
  result: string;
  /** Patient ids by external id. */
  patients?: string;
  /** The failed rows, to correct and send again. */
  corrections?: string;
}

/**
 * Saves the result files. @param output their path without the ending:
 * `<output>.result.csv` and so on
 */
export async function saveOutcome(
  { result, patients, corrections }: BulkResult,
  output: string,
  files: FileStore,
): Promise<SavedOutcome> {
  const save = async (
    { ref, sha256 }: FileRef,
    name: string,
  ): Promise<string> =>
    saveAside(`${output}.${name}.csv`, await files.get(ref), sha256);
  return {
    result: await save(result, 'result'),
    patients: patients && (await save(patients, 'patients')),
    corrections: corrections && (await save(corrections, 'corrections')),
  };
}
