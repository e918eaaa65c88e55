import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { access, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConversionType } from '../../contract/consolidated-query.ts';
import { consolidatedQueryWorkflowId } from '../../contract/temporal.ts';
import type { AnswerOf } from '../../orchestrator/client/answers.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { RefusedError, UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { workflowLink } from '../links.ts';
import { isPassing } from '../progress/follow-query.ts';
import { nextDelayMs, pause } from '../progress/pace.ts';
import { createDownloads } from '../target/download.ts';
import { type CommandResult, unfinishedExit } from '../terminal.ts';
import { type CommandContext, endOfFollowing, type FollowingOptions } from './command.ts';

export interface RecordsOptions extends FollowingOptions {
  format: ConversionType;
  out: string;
  resources?: string;
  from?: string;
  to?: string;
}

type View = AnswerOf<'getConsolidatedQuery'>;

/** Has a patient's record put together (consolidated query), follows that, and saves the result. */
export async function records(
  patientId: string,
  options: RecordsOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { exchange } = context.target;
  const out = resolve(options.out);
  if (options.wait && (await isThere(out)))
    throw new UsageError(`${options.out} is there already; give another --out.`);
  const { answer: started } = await exchange.call(
    'startConsolidatedQuery',
    {
      params: { id: patientId },
      query: {
        conversionType: options.format,
        resources: options.resources,
        dateFrom: options.from,
        dateTo: options.to,
      },
      body: {},
    },
    { idempotencyKey: randomUUID() },
  );
  const view = options.wait ? await follow(patientId, started, options, context) : started;
  context.terminal.live.close();
  if (view.status !== 'completed') return report(patientId, view, options, context);
  const sizeBytes = await download(view, out);
  return report(patientId, view, options, context, { path: out, sizeBytes });
}

async function follow(
  patientId: string,
  started: View,
  options: RecordsOptions,
  { terminal, target }: CommandContext,
): Promise<View> {
  const signal = endOfFollowing(terminal, options);
  const { requestId } = started;
  let view: View = started;
  let delayMs: number | undefined;
  terminal.live.set(`record ${requestId}`, [view.status]);
  while (view.status === 'processing') {
    delayMs = nextDelayMs(delayMs, false);
    await pause(delayMs, signal);
    if (signal.aborted) break;
    try {
      ({ answer: view } = await target.exchange.call('getConsolidatedQuery', {
        params: { id: patientId, requestId },
      }));
    } catch (error) {
      // An exchange that does not answer for a while is asked again.
      if (!(error instanceof ExchangeCallError) || !isPassing(error)) throw error;
    }
    terminal.live.set(`record ${requestId}`, [view.status]);
  }
  return view;
}

/** Returns how many bytes. The file is whole or not there, and its owner's only: it is about a patient. */
async function download({ result }: View, out: string): Promise<number> {
  if (result === undefined)
    throw new RefusedError('This exchange gives the result by webhook only (medical.consolidated-data).');
  const unfinished = join(dirname(out), `.${basename(out)}.${process.pid}.part`);
  let sizeBytes = 0;
  try {
    const content = await createDownloads().download(result, {
      onProgress: (moved) => {
        sizeBytes = moved;
      },
    });
    await pipeline(Readable.from(content), createWriteStream(unfinished, { mode: 0o600 }));
    await rename(unfinished, out);
  } finally {
    await rm(unfinished, { force: true });
  }
  return sizeBytes;
}

function report(
  patientId: string,
  { requestId, status, message }: View,
  { format, out }: RecordsOptions,
  { terminal, target: { ui } }: CommandContext,
  saved?: { path: string; sizeBytes: number },
): CommandResult {
  const link = ui === undefined ? undefined : workflowLink(ui, consolidatedQueryWorkflowId(requestId));
  const isRunning = status === 'processing';
  return {
    exitCode: isRunning
      ? unfinishedExit(terminal.interrupted)
      : status === 'completed'
        ? EXIT.done
        : EXIT.failed,
    document: {
      command: 'records',
      patientId,
      requestId,
      status,
      format,
      ...saved,
      message,
      workflowUrl: link,
    },
    lines: [
      `Record ${requestId}: ${status}${message === undefined ? '' : ` (${message})`}`,
      ...(saved === undefined ? [] : [`Saved ${out} (${saved.sizeBytes} bytes)`]),
      ...(link === undefined ? [] : [`Temporal UI: ${link}`]),
      ...(isRunning ? ['The work goes on; the same command takes up what is still in progress.'] : []),
    ],
  };
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
