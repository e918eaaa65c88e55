import { resolve } from 'node:path';
import { mapAtMost } from '../../lib/at-most.ts';
import { EXIT } from '../../lib/exit-codes.ts';
import { renderTable } from '../../lib/table.ts';
import { UsageError } from '../errors.ts';
import {
  isComplete,
  manifestFiles,
  openExportFolder,
  prepareExportFolder,
  saveExportFile,
} from '../output/export-folder.ts';
import { pollExchange } from '../progress/poll-exchange.ts';
import {
  type ExportManifest,
  type ExportState,
  type ExportWanted,
  exportIdOf,
} from '../target/bulk-exports.ts';
import { type CommandResult, unfinishedExit } from '../terminal.ts';
import {
  type CommandContext,
  endOfFollowing,
  type FollowingOptions,
  type StarterCommand,
  type StarterCommandOptions,
} from './command.ts';

export interface ExportOptions extends FollowingOptions, ExportWanted {
  /** Id, or address of the status, of an export that was started before. */
  export?: string;
  out?: string;
}

const AT_ONCE = 4;

/**
 * Starts an export (or takes up one that was started before), follows it, and
 * downloads its files into the folder `out`. Throws UsageError,
 * ExchangeCallError.
 */
export const exportRecords: StarterCommand<[ExportOptions]> = async (
  options,
  context,
) => {
  const { exports } = context.target;
  const { live } = context.terminal;
  const { wait, cohort, since, type } = options;
  const out = options.out === undefined ? undefined : resolve(options.out);
  const known =
    options.export === undefined ? undefined : requireId(options.export);
  if (wait && out === undefined)
    throw new UsageError(
      'Pass the folder for the files as --out, or --no-wait to start the export only.',
    );
  if (
    known !== undefined &&
    [cohort, since, type].some((each) => each !== undefined)
  )
    throw new UsageError(
      '--export names an export that exists. Remove --cohort, --since and --type.',
    );
  if (known === undefined && wait && out !== undefined)
    await prepareExportFolder(out);

  const id = known ?? (await exports.start(options));
  // Printed before anything can fail, so that the export is not lost.
  if (known === undefined)
    live.print(
      `Export ${id} has started. If this command ends early, go on with: ${howToGoOn(id, out)}`,
    );
  const subject = `export ${id}`;
  const started: ExportState = { status: 'running' };
  if (!wait) {
    const isStarted = known === undefined;
    const state = isStarted ? started : await exports.read(id);
    return exportResult(id, state, { out, isStarted }, context);
  }
  const signal = endOfFollowing(context.terminal, options);
  const state = await pollExchange<ExportState>(
    started,
    (each) => exports.read(id, each),
    {
      isRunning: ({ status }) => status === 'running',
      waitMs: (now) => (now.status === 'running' ? now.waitMs : undefined),
      onChange: (now, problem) =>
        live.set(subject, [problem ?? progressOf(now)]),
      signal,
    },
  );
  if (state.status !== 'completed' || out === undefined)
    return exportResult(id, state, { out }, context);
  const isSaved = await downloadAll(
    id,
    state.manifest,
    { out, signal },
    context,
  );
  return exportResult(id, state, { out, isSaved }, context);
};

/** Cancels a running export, or deletes the files of a completed one. */
export const exportCancel: StarterCommand<
  [string, StarterCommandOptions]
> = async (text, _, { target }) => {
  const id = requireId(text);
  await target.exports.cancel(id);
  return {
    document: { command: 'export cancel', exportId: id, status: 'cancelled' },
    lines: [
      `Export ${id} was cancelled; its files at the exchange are deleted.`,
    ],
  };
};

function requireId(text: string): string {
  const id = exportIdOf(text);
  if (id === undefined)
    throw new UsageError(
      'Expected the id of an export, or the address of its status.',
    );
  return id;
}

const progressOf = (state: ExportState): string =>
  state.status === 'running' ? (state.progress ?? 'running') : state.status;

/**
 * Returns false when following ended first. Files that are complete are not
 * downloaded again.
 */
async function downloadAll(
  id: string,
  manifest: ExportManifest,
  { out, signal }: { out: string; signal: AbortSignal },
  { target, terminal }: CommandContext,
): Promise<boolean> {
  await openExportFolder(out, manifest);
  const files = manifestFiles(manifest);
  let done = 0;
  let bytes = 0;
  const show = () =>
    terminal.live.set(`export ${id}`, [
      `${done} of ${files.length} files${terminal.live.redraws ? `, ${megabytes(bytes)} MB downloaded` : ''}`,
    ]);
  show();
  try {
    await mapAtMost(files, AT_ONCE, async (file) => {
      signal.throwIfAborted();
      if (!(await isComplete(out, file))) {
        const content = await target.exports.download(id, file.name, signal);
        await saveExportFile(out, file, content, {
          signal,
          onBytes: (added) => {
            const before = megabytes(bytes);
            bytes += added;
            if (megabytes(bytes) !== before) show();
          },
        });
      }
      done += 1;
      show();
    });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

const megabytes = (bytes: number): number => Math.floor(bytes / 1_000_000);

/**
 * `isSaved`: whether all files are in the folder `out`; absent when only the
 * state was asked for. `isStarted`: only the start was asked for, and it is
 * done.
 */
function exportResult(
  id: string,
  state: ExportState,
  {
    out,
    isSaved,
    isStarted = false,
  }: { out?: string; isSaved?: boolean; isStarted?: boolean },
  { terminal }: CommandContext,
): CommandResult {
  const goOn = howToGoOn(id, out);
  const common = { command: 'export', exportId: id, status: state.status, out };
  switch (state.status) {
    case 'running':
      return {
        exitCode: isStarted ? EXIT.done : unfinishedExit(terminal.interrupted),
        document: { ...common, progress: state.progress },
        lines: [
          `Export ${id}: running${state.progress === undefined ? '' : ` (${state.progress})`}`,
          `It continues without this terminal. Follow it and save its files with: ${goOn}`,
          `Cancel it with: npm run starter -- export cancel ${id}`,
        ],
      };
    case 'failed':
      return {
        exitCode: EXIT.failed,
        document: { ...common, reason: state.reason },
        lines: [`Export ${id}: failed (${state.reason})`],
      };
    case 'completed': {
      const { transactionTime, error } = state.manifest;
      const files = manifestFiles(state.manifest);
      const incomplete = error.reduce((sum, { count = 0 }) => sum + count, 0);
      return {
        exitCode:
          isSaved === false ? unfinishedExit(terminal.interrupted) : EXIT.done,
        document: {
          ...common,
          isSaved: isSaved === true,
          transactionTime,
          incomplete,
          files,
        },
        lines: [
          `Export ${id}: completed`,
          ...(files.length === 0
            ? [
                'It has no files: nothing changed since then, or there are no patients.',
              ]
            : renderTable(
                [
                  'file',
                  'kind',
                  'type',
                  state.manifest.views === undefined ? 'lines' : 'rows',
                ],
                files.map(({ name, kind, type, count }) => [
                  name,
                  kind,
                  type,
                  String(count ?? ''),
                ]),
              )),
          ...(incomplete === 0
            ? []
            : [
                `Incomplete records: ${incomplete}. The files of kind error say why.`,
              ]),
          isSaved === true ? `Saved in ${out}` : `Save its files with: ${goOn}`,
          ...(state.manifest.deidentified === true
            ? []
            : [
                `The next export of changes begins with: --since ${transactionTime}`,
              ]),
        ],
      };
    }
  }
}

const howToGoOn = (id: string, out: string | undefined): string =>
  `npm run starter -- export --export ${id} --out ${out === undefined ? '<folder>' : quoted(out)}`;

/** A path as a shell reads it. */
const quoted = (path: string): string =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
