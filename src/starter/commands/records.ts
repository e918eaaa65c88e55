import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ConversionType } from '../../contract/consolidated-query.ts';
import { consolidatedQueryWorkflowId } from '../../contract/temporal.ts';
import { EXIT } from '../../lib/exit-codes.ts';
import type { ResponseOf } from '../../orchestrator/client/responses.ts';
import { workflowLink } from '../../temporal/ui-links.ts';
import { RefusedError } from '../errors.ts';
import { checkOutFile, replace } from '../output/out-folder.ts';
import { pollExchange } from '../progress/poll-exchange.ts';
import { createDownloads } from '../target/download.ts';
import { type CommandResult, unfinishedExit } from '../terminal.ts';
import {
  type CommandContext,
  endOfFollowing,
  type FollowingOptions,
  type StarterCommand,
} from './command.ts';

export interface RecordsOptions extends FollowingOptions {
  format: ConversionType;
  out: string;
  resources?: string;
  from?: string;
  to?: string;
}

type View = ResponseOf<'getConsolidatedQuery'>;

/**
 * Starts a consolidated query, which builds the patient's merged record,
 * follows it, and saves the result. Throws UsageError, RefusedError,
 * ExchangeCallError.
 */
export const records: StarterCommand<[string, RecordsOptions]> = async (
  patientId,
  options,
  context,
) => {
  const { exchange } = context.target;
  const out = resolve(options.out);
  if (options.wait) await checkOutFile(out);
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
  const view = options.wait
    ? await follow(patientId, started, options, context)
    : started;
  if (view.status !== 'completed')
    return report(patientId, view, options, context);
  const sizeBytes = await download(view, out);
  return report(patientId, view, options, context, { path: out, sizeBytes });
};

function follow(
  patientId: string,
  started: View,
  options: RecordsOptions,
  { terminal, target }: CommandContext,
): Promise<View> {
  const { requestId } = started;
  return pollExchange(
    started,
    async (signal) =>
      (
        await target.exchange.call(
          'getConsolidatedQuery',
          { params: { id: patientId, requestId } },
          { signal },
        )
      ).answer,
    {
      isRunning: ({ status }) => status === 'processing',
      onChange: ({ status }, problem) =>
        terminal.live.set(`record ${requestId}`, [
          problem === undefined ? status : `${status} (${problem})`,
        ]),
      signal: endOfFollowing(terminal, options),
    },
  );
}

/**
 * Saves the result and returns its size in bytes. The file appears only once it
 * is complete, readable by its owner only. Throws RefusedError when the
 * exchange gives no link to the result.
 */
async function download({ result }: View, out: string): Promise<number> {
  if (result === undefined)
    throw new RefusedError(
      'This exchange delivers the result only by webhook (medical.consolidated-data), so it cannot be saved here.',
    );
  let sizeBytes = 0;
  await replace(out, async (unfinished) => {
    const content = await createDownloads().download(result, {
      onProgress: (moved) => {
        sizeBytes = moved;
      },
    });
    await writeFile(unfinished, content, { mode: 0o600 });
  });
  return sizeBytes;
}

function report(
  patientId: string,
  { requestId, status, message }: View,
  { format, out }: RecordsOptions,
  { terminal, target: { ui } }: CommandContext,
  saved?: { path: string; sizeBytes: number },
): CommandResult {
  const link = workflowLink(ui, consolidatedQueryWorkflowId(requestId));
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
      ...(saved === undefined
        ? []
        : [`Saved ${out} (${saved.sizeBytes} bytes)`]),
      ...(link === undefined ? [] : [`Temporal UI: ${link}`]),
      ...(isRunning
        ? [
            'The record is still being built. Run the same command again to follow it and save the result.',
          ]
        : []),
    ],
  };
}
