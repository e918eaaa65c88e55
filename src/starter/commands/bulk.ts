import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RefusedError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { checkPanel, type PanelFile, wrongRows } from '../input/panel-file.ts';
import { listRowErrors, type RowErrors } from '../output/row-errors.ts';
import { number } from '../progress/bulk-rows.ts';
import { plainText } from '../progress/plain-text.ts';
import { type BulkOnboardings, openBulkOnboardings } from '../target/bulk-onboardings.ts';
import { facilityOf } from '../target/target.ts';
import type { CommandResult } from '../terminal.ts';
import { followToEnd } from './bulk-follow.ts';
import type { CommandContext, FollowingOptions } from './command.ts';
import { bulkResult } from './report-bulk.ts';

export interface BulkOptions extends FollowingOptions {
  dryRun?: boolean;
  sendAnyway?: boolean;
  job?: string;
  /** Folder for what comes of it; else next to the file. */
  out?: string;
}

const SHOWN_MAX = 10;

/**
 * Checks a CSV of patients by the exchange's own rules, hands it to a `bulkOnboarding` and follows that to its end. A
 * file with rows that break a rule is sent only with `sendAnyway`, or in a dry run.
 */
export async function bulk(
  path: string,
  options: BulkOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { live } = context.terminal;
  const subject = plainText(basename(path));
  live.set(subject, ['checking the file']);
  const panel = await checkPanel(path);
  const folder = options.out ?? dirname(path);
  await mkdir(folder, { recursive: true });
  const output = join(folder, basename(path).replace(/\.csv$/i, ''));
  const errors = await listRowErrors(`${output}.errors.csv`, wrongRows(panel), SHOWN_MAX);
  for (const line of errorLines(errors, panel)) live.print(line);
  if (errors.rows > 0 && options.sendAnyway !== true && options.dryRun !== true) {
    live.close();
    return notSent(panel, errors);
  }

  const bulks = await openBulkOnboardings(context.target, context.env);
  try {
    const jobId = options.job ?? `bulk-${randomUUID()}`;
    const started = await start(panel, { ...options, jobId }, bulks, context);
    const job = { jobId, workflowId: started.workflowId, isNew: started.kind === 'new' };
    if (!options.wait) {
      live.close();
      return { ...bulkResult('bulk', job, context), exitCode: EXIT.done };
    }
    return await followToEnd(
      'bulk',
      { subject, output, ...job },
      { ...options, handle: started.handle, bulks },
      context,
    );
  } finally {
    await bulks.close();
  }
}

async function start(
  panel: PanelFile,
  { jobId, dryRun = false }: BulkOptions & { jobId: string },
  { files, start: startJob }: BulkOnboardings,
  { target }: CommandContext,
) {
  const facilityId = await facilityOf(target);
  const file = await files.put('upload', createReadStream(panel.path), 'text/csv');
  let isTaken = false;
  try {
    const started = await startJob({ jobId, facilityId, dryRun, file, rows: panel.rows });
    isTaken = started.kind === 'new';
    if (started.kind === 'other-file')
      throw new RefusedError(`Job ${jobId} was started with another file. Give this one another --job.`);
    if (started.kind === 'other-mode')
      throw new RefusedError(
        `Job ${jobId} was started ${dryRun ? 'without' : 'with'} --dry-run. Give this one another --job.`,
      );
    return started;
  } finally {
    if (!isTaken) await files.delete(file.ref);
  }
}

function errorLines({ rows, first, path }: RowErrors, panel: PanelFile): string[] {
  if (rows === 0) return [`${number(panel.rows)} rows, none breaks a rule.`];
  const shown = first.flatMap(({ row, errors }) =>
    errors.map(
      ({ column, message }) =>
        `  row ${row}${column === '' ? '' : `, ${plainText(column)}`}: ${plainText(message)}`,
    ),
  );
  const more = rows > first.length ? [`  … and ${number(rows - first.length)} more rows`] : [];
  return [
    `${number(rows)} of ${number(panel.rows)} rows break a rule:`,
    ...shown,
    ...more,
    `All of them: ${path}`,
  ];
}

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
    'Nothing was sent. Correct these rows, or send the file as it is with --send-anyway: the other rows go in, and',
    'these come back in a file of rows to correct.',
  ],
});
