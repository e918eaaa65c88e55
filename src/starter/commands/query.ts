import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { QueryGateway } from '../../contract/network-query.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { networkQueryWorkflowId } from '../../contract/temporal.ts';
import { counted } from '../../lib/counted.ts';
import { EXIT, exitCodeOf } from '../../lib/exit-codes.ts';
import type { LiveLines } from '../../lib/live-lines.ts';
import { renderTable } from '../../lib/table.ts';
import { utcCell } from '../../lib/time.ts';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import type { OnboardingHandle } from '../../orchestrator/patient-onboarding/start-onboarding.ts';
import { workflowLink } from '../../temporal/ui-links.ts';
import { RefusedError, UsageError } from '../errors.ts';
import {
  parseSubject,
  requestedSources,
  type Subject,
  type SubjectKind,
} from '../input/arguments.ts';
import {
  followOnboarding,
  type OnboardingView,
  readOnboarding,
} from '../progress/onboarding-view.ts';
import { pollExchange } from '../progress/poll-exchange.ts';
import {
  QueryReader,
  type QueryView,
  queryView,
} from '../progress/query-view.ts';
import {
  awaitedByOnboarding,
  awaitedByQuery,
  coloured,
  onboardingRows,
  queryRows,
} from '../progress/rows.ts';
import {
  openOnboardings,
  type StarterOnboardings,
} from '../target/onboardings.ts';
import type { Env, Target } from '../target/target.ts';
import {
  type CommandResult,
  howToFollow,
  howToRetry,
  type Terminal,
  unfinishedExit,
} from '../terminal.ts';
import {
  type CommandContext,
  endOfFollowing,
  type FollowingOptions,
  type StarterCommand,
} from './command.ts';
import {
  gatewaysTable,
  gatewayWords,
  readQueryGateways,
} from './query-gateways.ts';
import { onboardingsResult } from './report-onboarding.ts';

interface QueryOptions extends FollowingOptions {
  sources: SourceType[];
  realtime?: boolean;
  purpose: 'treatment' | 'ias';
  explain?: boolean;
}

/**
 * Starts a network query for a patient of the exchange (E2), and follows it
 * until it ends (E3).
 */
export const query: StarterCommand<[string, QueryOptions]> = async (
  patientId,
  options,
  context,
) => {
  if (options.explain === true) return explainGateways(patientId, context);
  const { answer } = await context.target.exchange.call(
    'startNetworkQuery',
    {
      query: { patientId, purposeOfUse: options.purpose },
      body: { sources: requestedSources(options) },
    },
    { idempotencyKey: randomUUID() },
  );
  const started = queryView(answer, []);
  if (!options.wait)
    return { ...queryResult('query', started, context), exitCode: EXIT.done };
  return watchQuery('query', started.requestId, options, context);
};

/**
 * Shows which gateways of the account's networks a query would ask, and how
 * many not. Asks nobody.
 */
async function explainGateways(
  patientId: string,
  { target }: CommandContext,
): Promise<CommandResult> {
  const { answer } = await target.exchange.call('explainGateways', {
    query: { patientId },
  });
  const lines = answer.networks.flatMap((network) => [
    '',
    `${network.connection} (directory ${network.directory}): ${counted(network.chosen.length, 'gateway')}, at most ${network.gatewaysMax}, within ${network.withinMiles} miles`,
    ...renderTable(
      ['Gateway', 'Home community', 'Because', 'Miles'],
      network.chosen.map(({ name, homeCommunity, because, miles }) => [
        name,
        homeCommunity,
        because,
        miles === undefined ? '' : String(miles),
      ]),
    ),
    ...Object.entries(network.leftOut).map(
      ([reason, gateways]) => `not asked: ${gateways} ${reason}`,
    ),
  ]);
  return {
    exitCode: EXIT.done,
    document: { command: 'query', patientId, networks: answer.networks },
    lines:
      answer.networks.length === 0
        ? [
            'The account has no connection to a network with a directory: its connections are all asked.',
          ]
        : lines,
  };
}

/** Shows a query's progress until it ends or following is stopped. */
const watchQuery = async (
  command: string,
  requestId: string,
  options: { timeout?: number },
  context: CommandContext,
): Promise<CommandResult> =>
  queryResult(
    command,
    await followedQuery(requestId, options, context),
    context,
  );

/**
 * The state of a query when it ended or following was stopped; shows its
 * progress until then. Throws ExchangeCallError when the exchange rejects a
 * request (unknown query, invalid key).
 */
async function followedQuery(
  requestId: string,
  options: { timeout?: number },
  context: CommandContext,
): Promise<QueryView> {
  const { live } = context.terminal;
  const reader = new QueryReader(context.target.exchange);
  let last: QueryView = {
    requestId,
    state: 'running',
    sources: [],
    timeline: [],
  };
  await pollExchange(last, (signal) => reader.read(requestId, signal), {
    signal: endOfFollowing(context.terminal, options),
    isRunning: ({ state }) => state === 'running',
    onChange: (view, problem) => {
      last = { ...view, problem };
      live.set(
        `query ${requestId}`,
        queryRows(last, live.colors),
        awaitedByQuery(last),
      );
    },
  });
  return last;
}

/**
 * Retries one source of a query, while the query runs or after it has ended.
 * Throws RefusedError, ExchangeCallError.
 */
export const retry: StarterCommand<
  [string, SourceType, FollowingOptions]
> = async (requestId, source, options, context) => {
  const { exchange } = context.target;
  try {
    const { answer } = await exchange.call(
      'retrySource',
      { params: { requestId, type: source } },
      { idempotencyKey: randomUUID() },
    );
    if (!options.wait)
      return {
        ...queryResult('retry', queryView(answer, []), context),
        exitCode: EXIT.done,
      };
  } catch (error) {
    throw await explained(error, requestId, source, context);
  }
  return watchQuery('retry', requestId, options, context);
};

/**
 * Explains a conflict by the state of the query or source; returns every other
 * error unchanged.
 */
async function explained(
  error: unknown,
  requestId: string,
  source: SourceType | undefined,
  { target }: CommandContext,
): Promise<unknown> {
  if (!(error instanceof ExchangeCallError) || error.kind !== 'conflict')
    return error;
  const view = await new QueryReader(target.exchange)
    .read(requestId)
    .catch(() => undefined);
  if (view === undefined) return error;
  if (source === undefined)
    return new RefusedError(
      `Query ${requestId} has already ended: ${view.state}.`,
    );
  const state = view.sources
    .find(({ type }) => type === source)
    ?.state.replace('-', ' ');
  if (state === undefined)
    return new RefusedError(
      `Query ${requestId} does not include the ${source} source.`,
    );
  return new RefusedError(
    `Not possible now: in query ${requestId}, the ${source} source is ${state}.`,
  );
}

interface CancelOptions extends FollowingOptions {
  source?: SourceType;
  as?: SubjectKind;
}

/**
 * Cancels a query, one source of a query, or an onboarding. The exit code is 0
 * when it was cancelled.
 */
export const cancel: StarterCommand<[string, CancelOptions]> = async (
  id,
  options,
  context,
) => {
  const subject = parseSubject(
    id,
    options.as ?? (options.source === undefined ? undefined : 'query'),
  );
  const found = await findSubject(context.target, subject, context.env);
  if (found.kind === 'query')
    return cancelQuery(found.query.requestId, options, context);
  const { onboardings, handle, workflowId } = found;
  try {
    if (options.source !== undefined)
      throw new UsageError(
        '--source applies to queries only: pass the request id of the query instead of the onboarding.',
      );
    return await cancelOnboarding(handle, workflowId, options, context);
  } finally {
    await onboardings.close();
  }
};

async function cancelQuery(
  requestId: string,
  { source }: CancelOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { exchange } = context.target;
  const once = { idempotencyKey: randomUUID() };
  try {
    if (source === undefined)
      await exchange.call(
        'cancelNetworkQuery',
        { params: { requestId } },
        once,
      );
    else
      await exchange.call(
        'giveUpSource',
        { params: { requestId, type: source } },
        once,
      );
  } catch (error) {
    throw await explained(error, requestId, source, context);
  }
  const view = await new QueryReader(exchange).read(requestId);
  return { ...queryResult('cancel', view, context), exitCode: EXIT.done };
}

async function cancelOnboarding(
  handle: OnboardingHandle,
  workflowId: string,
  options: CancelOptions,
  context: CommandContext,
): Promise<CommandResult> {
  try {
    const { state } = await readOnboarding(handle, context.target.exchange);
    if (state !== 'running')
      throw new RefusedError(`The onboarding has already ended: ${state}.`);
    await handle.cancel();
  } catch (error) {
    throw error instanceof WorkflowNotFoundError ? unknownId() : error;
  }
  if (!options.wait) {
    const reported = { workflowId, requested: 'cancelling' as const };
    return {
      ...onboardingsResult('cancel', [reported], context),
      exitCode: EXIT.done,
    };
  }
  const view = await followedOnboarding(handle, options, context);
  const result = onboardingsResult('cancel', [{ workflowId, view }], context);
  // It may have ended otherwise before the cancellation took effect.
  return view.state === 'cancelled'
    ? { ...result, exitCode: EXIT.done }
    : result;
}

/**
 * The state of an onboarding when it ended or following was stopped; shows its
 * progress until then.
 */
function followedOnboarding(
  handle: OnboardingHandle,
  options: { timeout?: number },
  { terminal, target }: CommandContext,
): Promise<OnboardingView> {
  const { live } = terminal;
  return followOnboarding(
    handle,
    (now) =>
      live.set(
        'onboarding',
        onboardingRows(now, live.colors),
        awaitedByOnboarding(now),
      ),
    { client: target.exchange, signal: endOfFollowing(terminal, options) },
  );
}

interface StatusOptions extends FollowingOptions {
  as?: SubjectKind;
  gateways?: boolean;
}

/**
 * Shows the state of a query or an onboarding; with `wait`, follows it until it
 * ends. Throws RefusedError when there is neither.
 */
export const showStatus: StarterCommand<[string, StatusOptions]> = async (
  id,
  options,
  context,
) => {
  const found = await findSubject(
    context.target,
    parseSubject(id, options.as),
    context.env,
  );
  if (found.kind === 'query') {
    const view = options.wait
      ? await followedQuery(found.query.requestId, options, context)
      : found.query;
    const gateways =
      options.gateways === true
        ? await readQueryGateways(view.requestId, context.target)
        : undefined;
    return queryResult('status', view, context, {
      withTimeline: true,
      gateways,
    });
  }
  const { onboardings, handle, workflowId } = found;
  try {
    const view = options.wait
      ? await followedOnboarding(handle, options, context)
      : await readOnboarding(handle, context.target.exchange);
    return onboardingsResult('status', [{ workflowId, view }], context);
  } catch (error) {
    throw error instanceof WorkflowNotFoundError ? unknownId() : error;
  } finally {
    await onboardings.close();
  }
};

const unknownId = (): RefusedError =>
  new RefusedError(
    'There is no query and no onboarding with this id. Bulk onboardings have their own commands, such as bulk status.',
  );

type Colors = LiveLines['colors'];

/**
 * Result of a command about one query: a table of its sources, optionally its
 * timeline, and the next command.
 */
function queryResult(
  command: string,
  view: QueryView,
  { terminal, target }: { terminal: Terminal; target: Target },
  options: { withTimeline?: boolean; gateways?: QueryGateway[] } = {},
): CommandResult {
  const { colors } = terminal.live;
  const link = queryLink(target, view.requestId);
  return {
    exitCode:
      view.state === 'running'
        ? unfinishedExit(terminal.interrupted)
        : exitCodeOf(view.state),
    document: {
      command,
      requestId: view.requestId,
      status: view.state,
      sources: view.sources,
      ...(options.withTimeline === true ? { timeline: view.timeline } : {}),
      ...(options.gateways === undefined ? {} : { gateways: options.gateways }),
      problem: view.problem,
      workflowUrl: link,
    },
    lines: [
      '',
      ...querySourcesTable(view, colors),
      '',
      ...(options.withTimeline === true
        ? [...timelineLines(view, colors), '']
        : []),
      ...(options.gateways === undefined
        ? []
        : [...gatewaysTable(options.gateways), '']),
      `Query ${view.requestId}: ${coloured(view.state, colors)}`,
      ...(link === undefined ? [] : [`Temporal UI: ${link}`]),
      ...(view.state === 'running' && options.withTimeline !== true
        ? [howToFollow(view.requestId)]
        : []),
      ...(view.state === 'running'
        ? []
        : view.sources
            .filter(({ state }) => state === 'failed')
            .map(({ type }) => howToRetry(view.requestId, type))),
    ],
  };
}

/**
 * Address of the query's workflow in the Temporal UI; undefined when the UI is
 * not known.
 */
const queryLink = ({ ui }: Target, requestId: string): string | undefined =>
  workflowLink(ui, networkQueryWorkflowId(requestId));

const querySourcesTable = (view: QueryView, colors: Colors): string[] =>
  renderTable(
    ['Source', 'Outcome', 'Attempts', 'Detail'],
    view.sources.map(({ type, state, attempts, note, gateways }) => [
      type,
      coloured(state, colors),
      String(attempts),
      [gatewayWords(gateways), note].filter(Boolean).join('; '),
    ]),
  );

const timelineLines = ({ timeline }: QueryView, colors: Colors): string[] =>
  renderTable(
    ['Time (UTC)', 'Source', 'Event'],
    timeline.map(({ at, source, attempt, kind, message }) => [
      utcCell(at),
      source === undefined
        ? ''
        : `${source}${attempt === undefined ? '' : ` #${attempt}`}`,
      `${message} ${colors.dim(`(${kind})`)}`,
    ]),
  );

type FoundSubject =
  | { kind: 'query'; query: QueryView }
  | {
      kind: 'onboarding';
      onboardings: StarterOnboardings;
      handle: OnboardingHandle;
      workflowId: string;
    };

/**
 * Finds the query of an id, else returns the handle of an onboarding, which may
 * not exist: its first use then throws WorkflowNotFoundError. Throws
 * ExchangeCallError, ConfigError.
 */
async function findSubject(
  target: Target,
  { kind, id }: Subject,
  env?: Env,
): Promise<FoundSubject> {
  if (kind === 'onboarding') return findOnboarding(target, id, env);
  try {
    return {
      kind: 'query',
      query: await new QueryReader(target.exchange).read(id),
    };
  } catch (error) {
    if (
      kind === 'query' ||
      !(error instanceof ExchangeCallError) ||
      error.kind !== 'not-found'
    )
      throw error;
    const canAskTemporal = target.stack !== undefined;
    if (!canAskTemporal) throw error;
    return findOnboarding(target, id, env);
  }
}

async function findOnboarding(
  target: Target,
  job: string,
  env: Env | undefined,
): Promise<FoundSubject> {
  const onboardings = await openOnboardings(target, env);
  return { kind: 'onboarding', onboardings, ...onboardings.find(job) };
}
