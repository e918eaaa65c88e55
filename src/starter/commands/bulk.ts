import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { EXIT } from '../../lib/exit-codes.ts';
import { RefusedError } from '../errors.ts';
import {
  checkPanel,
  type PanelFile,
  type WrongRow,
  wrongRows,
} from '../input/panel-file.ts';
import { prepareOutFolder } from '../output/out-folder.ts';
import { number } from '../progress/bulk-view.ts';
import { terminalText } from '../progress/plain-text.ts';
import {
  type BulkOnboardings,
  openBulkOnboardings,
} from '../target/onboardings.ts';
import { facilityOf } from '../target/target.ts';
import type { CommandResult } from '../terminal.ts';
import { watchBulk } from './bulk-control.ts';
import type {
  CommandContext,
  FollowingOptions,
  StarterCommand,
} from './command.ts';
import { bulkResult } from './report-bulk.ts';

export interface BulkOptions extends FollowingOptions {
  dryRun?: boolean;
  sendAnyway?: boolean;
  job?: string;
  /** Folder for the result files; default: the folder of the CSV. */
  out?: string;
}

const SHOWN_MAX = 10;

/**
 * Checks a CSV of patients by the exchange's own rules (docs/interface.md,
 * "Bulk CSV"), starts a `bulkOnboarding` workflow with it, and follows that
 * until it ends. A file with invalid rows is sent only with `sendAnyway`, or in
 * a dry run. Throws UsageError, RefusedError.
 */
export const bulk: StarterCommand<[string, BulkOptions]> = async (
  path,
  options,
  context,
) => {
  const { live } = context.terminal;
  const subject = terminalText(basename(path));
  live.set(subject, ['checking the file']);
  const panel = await checkPanel(path);
  const folder = options.out ?? dirname(path);
  await prepareOutFolder(folder);
  const output = join(folder, basename(path).replace(/\.csv$/i, ''));
  const errors = await listRowErrors(
    `${output}.errors.csv`,
    wrongRows(panel),
    SHOWN_MAX,
  );
  for (const line of errorLines(errors, panel)) live.print(line);
  if (errors.rows > 0 && options.sendAnyway !== true && options.dryRun !== true)
    return notSent(panel, errors);

  const bulks = await openBulkOnboardings(context.target, context.env);
  try {
    const jobId = options.job ?? `bulk-${randomUUID()}`;
    const started = await start(panel, { ...options, jobId }, bulks, context);
    const job = {
      jobId,
      workflowId: started.workflowId,
      isNew: started.isNew,
      out: folder,
    };
    if (!options.wait)
      return { ...bulkResult('bulk', job, context), exitCode: EXIT.done };
    return await watchBulk(
      'bulk',
      { subject, output, ...job },
      { ...options, handle: started.handle, bulks },
      context,
    );
  } finally {
    await bulks.close();
  }
};

async function start(
  panel: PanelFile,
  { jobId, dryRun = false }: BulkOptions & { jobId: string },
  { files, start: startJob }: BulkOnboardings,
  { target }: CommandContext,
) {
  const facilityId = await facilityOf(target);
  const file = await files.put(
    'upload',
    createReadStream(panel.path),
    'text/csv',
  );
  let isTaken = false;
  try {
    const started = await startJob({
      jobId,
      facilityId,
      dryRun,
      file,
      rows: panel.rows,
    });
    isTaken = started.isNew;
    if (started.other === undefined) return started;
    const how = {
      fileSha256: 'with another file',
      dryRun: `${dryRun ? 'without' : 'with'} --dry-run`,
      facilityId: 'for another facility',
    };
    throw new RefusedError(
      `Job ${jobId} was started ${how[started.other]}. Pass another --job.`,
    );
  } finally {
    if (!isTaken) await files.delete(file.ref);
  }
}

function errorLines(
  { rows, first, path }: RowErrors,
  panel: PanelFile,
): string[] {
  if (rows === 0) return [`${rowCount(panel.rows)} checked, all valid.`];
  const shown = first.flatMap(({ row, errors }) =>
    errors.map(
      ({ column, message }) =>
        `  row ${row}${column === '' ? '' : `, ${terminalText(column)}`}: ${terminalText(message)}`,
    ),
  );
  const more =
    rows > first.length
      ? [`  … and ${rowCount(rows - first.length, 'more ')}`]
      : [];
  return [
    `${number(rows)} of ${rowCount(panel.rows)} ${rows === 1 ? 'is' : 'are'} invalid:`,
    ...shown,
    ...more,
    `Full list: ${path}`,
  ];
}

const rowCount = (count: number, more = ''): string =>
  `${number(count)} ${more}${count === 1 ? 'row' : 'rows'}`;

const notSent = (panel: PanelFile, errors: RowErrors): CommandResult => ({
  exitCode: EXIT.usage,
  document: {
    command: 'bulk',
    status: 'not-sent',
    rows: panel.rows,
    wrongRows: errors.rows,
    errorsFile: errors.path,
  },
  lines: [
    '',
    'Nothing was sent. Correct these rows and run the command again. Or add --send-anyway: the valid rows are imported,',
    'and the invalid ones are saved to a file for correction.',
  ],
});

interface RowErrors {
  /** Number of invalid rows. */
  rows: number;
  /** The first of them. */
  first: WrongRow[];
  /** The file that lists all of them; undefined when there are none. */
  path?: string;
}

const LINES_AT_ONCE = 500;

/**
 * Writes all errors of all rows into a CSV (`row,column,error`), in bounded
 * memory. It replaces the list of an earlier check, which is removed when there
 * are no errors.
 */
async function listRowErrors(
  path: string,
  wrong: AsyncIterable<WrongRow>,
  shownMax: number,
): Promise<RowErrors> {
  await rm(path, { force: true });
  const errors: RowErrors = { rows: 0, first: [] };
  let lines: string[][] = [['row', 'column', 'error']];
  let file: Awaited<ReturnType<typeof open>> | undefined;
  try {
    for await (const row of wrong) {
      errors.rows += 1;
      if (errors.first.length < shownMax) errors.first.push(row);
      for (const { column, message } of row.errors)
        lines.push([String(row.row), column, message]);
      if (lines.length < LINES_AT_ONCE) continue;
      file ??= await open(path, 'wx', 0o600);
      await file.appendFile(csv(lines));
      lines = [];
    }
    if (errors.rows === 0) return errors;
    file ??= await open(path, 'wx', 0o600);
    await file.appendFile(csv(lines));
    return { ...errors, path };
  } finally {
    await file?.close();
  }
}

/** Formulas are escaped, because a message may quote a cell. */
const csv = (lines: string[][]): string =>
  stringify(lines, { escape_formulas: true, record_delimiter: '\r\n' });
