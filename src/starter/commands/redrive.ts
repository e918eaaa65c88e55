import { randomUUID } from 'node:crypto';
import type { SourceType } from '../../contract/primitives.ts';
import type { QueryRedrive } from '../../contract/query-redrive.ts';
import { queryRedriveWorkflowId } from '../../contract/temporal.ts';
import { EXIT, exitCodeOf } from '../../lib/exit-codes.ts';
import { renderTable } from '../../lib/table.ts';
import { workflowLink } from '../../temporal/ui-links.ts';
import { UsageError } from '../errors.ts';
import { pollExchange } from '../progress/poll-exchange.ts';
import { type CommandResult, unfinishedExit } from '../terminal.ts';
import {
  type CommandContext,
  endOfFollowing,
  type FollowingOptions,
  type StarterCommand,
} from './command.ts';

export interface RedriveOptions extends FollowingOptions {
  source?: SourceType;
  from?: Date;
  to?: Date;
  reason?: string;
  dryRun?: boolean;
  cancel?: boolean;
}

/**
 * Retries one source of all queries that match the options, and follows it;
 * with the id of a redrive, follows or cancels that one. Throws UsageError,
 * ExchangeCallError.
 */
export const redrive: StarterCommand<
  [string | undefined, RedriveOptions]
> = async (requestId, options, context) => {
  const { exchange } = context.target;
  if (requestId === undefined) return begin(options, context);
  if (options.cancel !== true) {
    const { answer } = await exchange.call('getQueryRedrive', {
      params: { requestId },
    });
    return options.wait
      ? follow(answer, options, context)
      : result(answer, context);
  }
  const { answer } = await exchange.call(
    'cancelQueryRedrive',
    { params: { requestId } },
    { idempotencyKey: randomUUID() },
  );
  return { ...result(answer, context), exitCode: EXIT.done };
};

async function begin(
  options: RedriveOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { source, from, to, reason, dryRun = false } = options;
  if (source === undefined || from === undefined || options.cancel === true)
    throw new UsageError(
      'Pass --source and --from to start a redrive, or the id of a redrive to follow or --cancel it.',
    );
  const { answer } = await context.target.exchange.call(
    'redriveQueries',
    {
      body: {
        source,
        failedFrom: from.toISOString(),
        failedTo: to?.toISOString(),
        reason,
        dryRun,
      },
    },
    { idempotencyKey: randomUUID() },
  );
  if (options.wait && !dryRun) return follow(answer, options, context);
  return { ...result(answer, context), exitCode: EXIT.done };
}

async function follow(
  first: QueryRedrive,
  options: RedriveOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { live } = context.terminal;
  const params = { requestId: first.requestId ?? '' };
  const last = await pollExchange(
    first,
    async () =>
      (await context.target.exchange.call('getQueryRedrive', { params }))
        .answer,
    {
      isRunning: ({ state, open }) =>
        state === 'running' || (state === 'completed' && open > 0),
      onChange: (now, problem) =>
        live.set('redrive', [
          sentence(now),
          ...(problem === undefined ? [] : [problem]),
        ]),
      signal: endOfFollowing(context.terminal, options),
    },
  );
  return result(last, context);
}

const sentence = ({
  source,
  state,
  queries,
  retried,
  skipped,
  failed,
  open,
}: QueryRedrive): string =>
  `Redrive of ${source}: ${state}, ${retried} of ${queries} queries retried, ${open} still in progress, ${skipped} skipped, ${failed} not possible`;

function result(
  now: QueryRedrive,
  { terminal, target }: CommandContext,
): CommandResult {
  const {
    requestId,
    state,
    source,
    failedFrom,
    failedTo,
    queries,
    retried,
    skipped,
    failed,
    open,
  } = now;
  const isOpen = state === 'running' || (state === 'completed' && open > 0);
  const link =
    requestId === undefined
      ? undefined
      : workflowLink(target.ui, queryRedriveWorkflowId(requestId));
  return {
    exitCode: isOpen ? unfinishedExit(terminal.interrupted) : ended(state),
    document: { command: 'redrive', ...now, workflowUrl: link },
    lines: [
      ...renderTable(
        [
          'Source',
          'Failed from',
          'Failed to',
          'Queries',
          'Retried',
          'Open',
          'Skipped',
          'Not possible',
        ],
        [
          [
            source,
            failedFrom,
            failedTo,
            ...[queries, retried, open, skipped, failed].map(String),
          ],
        ],
      ),
      '',
      ...(requestId === undefined
        ? ['Nothing was retried (dry run).']
        : [
            `Redrive ${requestId}: ${state}`,
            ...(link === undefined ? [] : [`Temporal UI: ${link}`]),
          ]),
      ...(isOpen
        ? [
            `Follow it: npm run starter -- redrive ${requestId}   (--cancel to stop it)`,
          ]
        : []),
    ],
  };
}

const ended = (state: QueryRedrive['state']) =>
  state === 'cancelled' ? exitCodeOf('cancelled') : EXIT.done;
