import { EXIT } from '../exit-codes.ts';
import { filesOf } from '../output/export-folder.ts';
import { renderTable } from '../table.ts';
import type { ExportState } from '../target/bulk-exports.ts';
import { type CommandResult, unfinishedExit } from '../terminal.ts';
import type { CommandContext } from './command.ts';

/**
 * `isSaved`: whether all files are in the folder `out`; absent when only a look was asked for.
 * `isStarted`: only the start was asked for, and it is done.
 */
export function exportResult(
  id: string,
  state: ExportState,
  { out, isSaved, isStarted = false }: { out?: string; isSaved?: boolean; isStarted?: boolean },
  { terminal }: CommandContext,
): CommandResult {
  terminal.live.close();
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
          `Cancel it with: npm run starter -- export-cancel ${id}`,
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
      const files = filesOf(state.manifest);
      const incomplete = error.reduce((sum, { count = 0 }) => sum + count, 0);
      return {
        exitCode: isSaved === false ? unfinishedExit(terminal.interrupted) : EXIT.done,
        document: { ...common, isSaved: isSaved === true, transactionTime, incomplete, files },
        lines: [
          `Export ${id}: completed`,
          ...(files.length === 0
            ? ['It has no files: nothing changed since then, or there are no patients.']
            : renderTable(
                ['file', 'kind', 'type', 'lines'],
                files.map(({ name, kind, type, count }) => [name, kind, type, String(count ?? '')]),
              )),
          ...(incomplete === 0
            ? []
            : [`Incomplete records: ${incomplete}. The files of kind error say why.`]),
          isSaved === true ? `Saved in ${out}` : `Save its files with: ${goOn}`,
          `The next export of changes begins with: --since ${transactionTime}`,
        ],
      };
    }
  }
}

export const howToGoOn = (id: string, out: string | undefined): string =>
  `npm run starter -- export --export ${id} --out ${out === undefined ? '<folder>' : quoted(out)}`;

/** A path as a shell reads it. */
const quoted = (path: string): string =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
