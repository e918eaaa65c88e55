import { randomUUID } from 'node:crypto';
import type {
  WorkflowHandle,
  WorkflowHandleWithFirstExecutionRunId,
} from '@temporalio/client';
import { ApplicationFailure, type Duration } from '@temporalio/common';
import { expect } from 'vitest';
import type { ConsolidatedActivities } from '../../src/activities/exchange/consolidated-query.ts';
import type { DirectoryActivities } from '../../src/activities/exchange/directory.ts';
import type { FollowUpActivities } from '../../src/activities/exchange/discharge-follow-up.ts';
import type { MessageActivities } from '../../src/activities/exchange/messages.ts';
import {
  type RecordActivities,
  repeatedLook,
  type SourceActivities,
} from '../../src/activities/exchange/network-query.ts';
import type { ReconcileActivities } from '../../src/activities/exchange/reconcile.ts';
import type { ArrivalActivities } from '../../src/activities/exchange/record-arrivals.ts';
import type { WebhookActivities } from '../../src/activities/exchange/webhook-delivery.ts';
import {
  type FailedAttempt,
  HISTORY_EVENTS_MAX,
  NETWORK_QUERY_MESSAGES as MESSAGES,
  type NetworkQueryInput,
  type NetworkQueryProgress,
  type SourceStep,
  type SourceStepInput,
} from '../../src/contract/network-query-workflow.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import {
  networkQueryWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import { SOURCE_RETRIES } from '../../src/exchange/queries/network-query/rules/retries.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { BACKGROUND_QUEUES } from '../../src/temporal/task-queues.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { startTimeSkippingServer } from '../support/time-skipping-server.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';

type ExchangeActivities = RecordActivities &
  ArrivalActivities &
  DirectoryActivities &
  SourceActivities &
  WebhookActivities &
  ReconcileActivities &
  FollowUpActivities &
  ConsolidatedActivities &
  MessageActivities;
const ACTIVITY_NAMES = [
  'askSource',
  'collectSource',
  'awaitSource',
  'recordFailedAttempt',
  'openNextAttempt',
  'deliverDue',
  'reconcileLeftOvers',
  'setReconcilePaused',
  'askAfterDischarge',
  'lookAfterDischarge',
  'endFollowUp',
  'transmitMessage',
  'checkTransmission',
  'failTransmission',
  'buildConsolidated',
  'failConsolidated',
  'mergeArrivals',
  'loadDirectory',
] as const satisfies (keyof ExchangeActivities)[];
type Answer =
  | SourceStep
  | Error
  | ((step: SourceStepInput) => Promise<SourceStep>);
export type QueryRun = WorkflowHandleWithFirstExecutionRunId<
  (input: NetworkQueryInput) => Promise<NetworkQueryProgress>
>;

installTestRuntime();
const dataConverter = createDataConverter(testKeyRing());

/** That of the newest server: milliseconds since the epoch. */
let clock = async (): Promise<number> => Date.now();

/**
 * A server of its own, whose clock leaps over waits while a test waits for a
 * result. Without `servesBackground` there is no worker for background work.
 */
export async function createTimeSkippingEnvironment({
  servesBackground = true,
} = {}) {
  const environment = await startTimeSkippingServer(dataConverter);
  clock = () => environment.currentTimeMs();
  // The workers stay: a server with a halted clock does not notice for long
  // that the poller it gave a task to is gone.
  let current: Partial<ExchangeActivities> = {};
  const activities = Object.fromEntries(
    ACTIVITY_NAMES.map((name) => [
      name,
      (input: never) => {
        const activity = current[name];
        if (activity === undefined)
          throw new Error(`this test has no activity ${name}`);
        return activity(input);
      },
    ]),
  );
  const workers = await createWorkers({
    connection: environment.nativeConnection,
    namespace: environment.namespace ?? 'default',
    dataConverter,
    workflowBundle: await workflowBundle(),
    activities: {
      [TASK_QUEUES.exchange]: activities,
      [TASK_QUEUES.webhooks]: activities,
      [TASK_QUEUES.partners]: activities,
      [TASK_QUEUES.builds]: activities,
      [TASK_QUEUES.networks]: activities,
      ...Object.fromEntries(
        SOURCE_TYPES.map((source) => [TASK_QUEUES.source(source), activities]),
      ),
      ...(servesBackground
        ? Object.fromEntries(
            BACKGROUND_QUEUES.map((queue) => [queue, activities]),
          )
        : {}),
    },
  });
  const running = workers.map((worker) => worker.run());

  return {
    client: environment.client,
    /** Milliseconds since the epoch on the server's clock. */
    now: () => environment.currentTimeMs(),
    /**
     * Ends a workflow between two activities. This server's clock stands still
     * while an activity runs, and for the whole timeout of one that its
     * workflow did not outlive: the next test that waits for a leap would hang.
     */
    async terminate(workflowId: string): Promise<void> {
      const handle = environment.client.workflow.getHandle(workflowId);
      await eventually(
        async () =>
          (await handle.describe()).raw.pendingActivities?.length === 0,
      );
      await handle.terminate();
    },
    /** Lets the server's clock leap. */
    sleep: (duration: Duration) => environment.sleep(duration),
    async close() {
      for (const worker of workers) worker.shutdown();
      await Promise.all(running);
      await environment.teardown();
    },
    /**
     * Runs `use` while the exchange's queues are served by these activities.
     */
    async withActivities<R>(
      activities: Partial<ExchangeActivities>,
      use: () => Promise<R>,
    ): Promise<R> {
      current = activities;
      return use();
    },
    startQuery(
      sources: readonly SourceType[],
      {
        run = 0,
        attempt = 1,
        historyEventsMax = HISTORY_EVENTS_MAX,
      }: { run?: number; attempt?: number; historyEventsMax?: number } = {},
    ): Promise<QueryRun> {
      const requestId = randomUUID();
      return environment.client.workflow.start(WORKFLOW_TYPES.networkQuery, {
        taskQueue: TASK_QUEUES.exchange,
        workflowId: networkQueryWorkflowId(requestId, run),
        args: [
          {
            accountId: 'account',
            requestId,
            run,
            steering: SOURCE_RETRIES,
            historyEventsMax,
            showsTroubleOnly: true,
            sources: sources.map((source) => ({ source, attempt })),
          },
        ],
      }) as Promise<QueryRun>;
    },
  };
}

export type TimeSkipping = Awaited<
  ReturnType<typeof createTimeSkippingEnvironment>
>;

/**
 * Sources that answer from a script (by `<source>/<attempt>`), and a note of
 * everything that was asked and written.
 */
export function scriptedSources(script: {
  ask?: Partial<Record<string, Answer[]>>;
  collect?: Partial<Record<string, Answer[]>>;
  /** Looks that follow the first collection in vain. */
  look?: Partial<Record<string, Answer[]>>;
}) {
  const calls: {
    step: keyof typeof script;
    source: SourceType;
    attempt: number;
    atMs: number;
  }[] = [];
  const failures: FailedAttempt[] = [];
  const opened: SourceStepInput[] = [];

  async function answer(
    kind: keyof typeof script,
    step: SourceStepInput,
  ): Promise<SourceStep> {
    const { source, attempt } = step;
    const made = calls.filter(
      (call) =>
        call.step === kind &&
        call.source === source &&
        call.attempt === attempt,
    ).length;
    calls.push({ step: kind, source, attempt, atMs: Date.now() });
    const answers = script[kind]?.[`${source}/${attempt}`] ?? [
      kind === 'look' ? READY : completed(1),
    ];
    const next = answers[Math.min(made, answers.length - 1)] ?? completed(1);
    if (next instanceof Error) throw next;
    return typeof next === 'function' ? next(step) : next;
  }

  const activities: Partial<ExchangeActivities> = {
    askSource: (step) => answer('ask', step),
    collectSource: (step) => answer('collect', step),
    awaitSource: repeatedLook((step) => answer('look', step), {
      now: () => clock(),
    }),
    recordFailedAttempt: async (failed) => void failures.push(failed),
    openNextAttempt: async (step) => {
      opened.push(step);
      return { attempt: step.attempt };
    },
  };
  return {
    activities,
    failures,
    opened,
    calls: (kind: keyof typeof script, source: SourceType) =>
      calls.filter((call) => call.step === kind && call.source === source),
  };
}

const READY: SourceStep = { state: 'ready' };
export const completed = (resources: number): SourceStep => ({
  state: 'completed',
  resources,
});
export const waiting = (retryAfterMs?: number): SourceStep => ({
  state: 'waiting',
  retryAfterMs,
});
/** The source refused the last calls; it is called again after this time. */
export const held = (retryAfterMs: number): SourceStep => ({
  state: 'waiting',
  retryAfterMs,
  held: {
    reason: 'lab answered 401 to the token request',
    nextTryAt: '2026-11-22T10:15:00.000Z',
  },
});
export const failure = (
  type: string,
  message: string,
  nonRetryable = true,
): ApplicationFailure =>
  ApplicationFailure.create({ type, message, nonRetryable });

type Query = Pick<QueryRun, 'query' | 'signal'>;

export const statusOf = (run: Query): Promise<NetworkQueryProgress> =>
  run.query<NetworkQueryProgress>(MESSAGES.status);
export const stateOf = async (run: Query, source: SourceType) =>
  (await statusOf(run)).sources.find((each) => each.source === source)?.state;

export const callBack = (run: Query, source: SourceType, attempt = 1) =>
  run.signal(MESSAGES.sourceCallback, { source, attempt });

export const update = (run: QueryRun, name: string, source?: SourceType) =>
  run.executeUpdate<void, [{ source: SourceType } | undefined]>(name, {
    args: [source === undefined ? undefined : { source }],
  });

/**
 * Until the workflow's tasks have failed several times. The first one may wait
 * ten seconds for a worker that is gone.
 */
export const untilStuck = (handle: WorkflowHandle): Promise<void> =>
  eventually(
    async () =>
      ((await handle.describe()).raw.pendingWorkflowTask?.attempt ?? 0) > 2,
  );

/** A step that lasts until the test lets it go on. */
export function untilReleased() {
  let release: (step: SourceStep) => void = () => undefined;
  const step = new Promise<SourceStep>((resolve) => {
    release = resolve;
  });
  return { release, step: () => step };
}

/** Until `check` holds; for what happens by itself and soon. */
export const eventually = (
  check: () => Promise<boolean> | boolean,
): Promise<void> => expect.poll(check).toBe(true);
