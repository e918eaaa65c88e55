import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import {
  type ActivityInterceptorsFactory,
  type InjectedSinks,
  type NativeConnection,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { TASK_QUEUES } from '../contract/temporal.ts';
import { isTracing } from '../lib/tracing/spans.ts';
import { DEPLOYMENT_NAME } from './builds.ts';
import { type RefusalSinks, refusalOf } from './refusals-in-workflows.ts';
import {
  QUEUES_OF_BOTH_LANES,
  WORKER_QUEUES,
  WORKFLOW_QUEUES,
  type WorkerQueue,
} from './task-queues.ts';
import {
  activityTraces,
  runTraces,
  TRACE_INTERCEPTORS,
} from './tracing/in-processes.ts';

const withWorkflows = (maxConcurrentWorkflowTaskExecutions: number) => ({
  maxConcurrentWorkflowTaskExecutions,
  maxConcurrentActivityTaskExecutions: 20,
  maxCachedWorkflows: 10 * maxConcurrentWorkflowTaskExecutions,
});
/**
 * Slots for two cores. Workflow tasks and the exchange's activities use CPU;
 * the sources' activities mostly wait for the network. With the SDK's defaults
 * (40 workflow tasks and 100 activities per worker), tasks would queue inside
 * the process, where the server can no longer assign them to another worker.
 */
const SLOTS: Partial<Record<WorkerQueue, Partial<WorkerOptions>>> = {
  [TASK_QUEUES.exchange]: withWorkflows(20),
  [TASK_QUEUES.orchestrator]: withWorkflows(10),
  // One for each destination that is being caught up; deliveries wait for
  // receivers.
  [TASK_QUEUES.webhooks]: { maxConcurrentActivityTaskExecutions: 20 },
  // Few, because a partner that hangs holds each of them.
  [TASK_QUEUES.partners]: { maxConcurrentActivityTaskExecutions: 10 },
  // A step waits for the slowest of the gateways that it asks.
  [TASK_QUEUES.networks]: {
    maxConcurrentActivityTaskExecutions: 3,
    maxHeartbeatThrottleInterval: '10 s',
  },
  // One result is built on each of two cores.
  [TASK_QUEUES.builds]: { maxConcurrentActivityTaskExecutions: 2 },
};
const SLOTS_OF_SOURCE: Partial<WorkerOptions> = {
  maxConcurrentActivityTaskExecutions: 20,
  // A retry resumes from PostgreSQL and not from the heartbeat, so no more of
  // them are sent than the timeout requires.
  maxHeartbeatThrottleInterval: '10 s',
};

const COMMON: Partial<WorkerOptions> = {
  shutdownGraceTime: '20 s',
  // Each heartbeat is a billed action in Temporal Cloud. It also brings
  // cancellations, so they arrive within this time.
  maxHeartbeatThrottleInterval: '5 s',
  workflowTaskPollerBehavior: {
    type: 'autoscaling',
    minimum: 1,
    initial: 2,
    maximum: 10,
  },
  activityTaskPollerBehavior: {
    type: 'autoscaling',
    minimum: 1,
    initial: 2,
    maximum: 10,
  },
};

/** Options of a worker that runs orchestrator workflows. */
export const ORCHESTRATOR_WORKER_OPTIONS: Partial<WorkerOptions> = {
  ...COMMON,
  ...SLOTS[TASK_QUEUES.orchestrator],
};

/**
 * The interceptors of workflow code, for the bundler: sources here, scripts in
 * the packed library.
 */
export const WORKFLOW_INTERCEPTORS = [
  fileURLToPath(
    new URL(
      `./refusals-in-workflows${extname(import.meta.url)}`,
      import.meta.url,
    ),
  ),
  TRACE_INTERCEPTORS,
];

/**
 * Takes note that input which was not encrypted has been refused: `signal
 * uploaded of bulkPatientCreate`.
 */
export type OnRefused = (what: string) => void;

/**
 * What surrounds all workflows and activities: input that is not encrypted is
 * refused, and traces are passed on. The sinks of traces are there without
 * traces too, because runs that were started with one report their end.
 */
export function interceptionOptions(onRefused?: OnRefused) {
  const report = (what: string, workflowId?: string) => {
    Runtime.instance().logger.warn(`not encrypted, so refused: ${what}`, {
      workflowId,
    });
    onRefused?.(what);
  };
  const refusals: InjectedSinks<RefusalSinks>['refusals'] = {
    refused: { fn: ({ workflowId }, what) => report(what, workflowId) },
  };
  const refusing: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute(input, next) {
        const failure = refusalOf(input.args);
        if (failure === undefined) return next(input);
        report(
          `input of the activity ${info.activityType}`,
          info.workflowExecution?.workflowId,
        );
        throw failure;
      },
    },
  });
  return {
    sinks: { ...runTraces, refusals },
    interceptors: {
      activity: isTracing() ? [refusing, activityTraces] : [refusing],
    },
  };
}

export interface WorkersOptions {
  connection: NativeConnection;
  namespace: string;
  dataConverter: DataConverter;
  workflowBundle: { code: string };
  /** With Worker Versioning: names the code of these workers. */
  build?: string | undefined;
  /** The task queues to serve, each with its activities by name. */
  activities: Partial<Record<WorkerQueue, object>>;
  onRefused?: OnRefused;
}

/**
 * Creates a Temporal worker for each task queue in `activities`. Run them with
 * `worker.run()`.
 */
export async function createWorkers(
  options: WorkersOptions,
): Promise<Worker[]> {
  const { connection, namespace, dataConverter, workflowBundle } = options;
  const queues = WORKER_QUEUES.filter(
    (queue) => options.activities[queue] !== undefined,
  );
  return Promise.all(
    queues.map((taskQueue) =>
      Worker.create({
        ...COMMON,
        ...slotsOf(taskQueue),
        ...(WORKFLOW_QUEUES.some((queue) => queue === taskQueue)
          ? { workflowBundle }
          : {}),
        ...versioned(options.build),
        connection,
        namespace,
        dataConverter,
        taskQueue,
        ...interceptionOptions(options.onRefused),
        activities: options.activities[taskQueue] ?? {},
      }),
    ),
  );
}

/**
 * Every queue is part of the build, those of the sources too: an activity runs
 * with the code of the build that scheduled it. Workflows that are pinned to
 * their build say so themselves (workflows/index.ts).
 */
const versioned = (buildId: string | undefined): Partial<WorkerOptions> =>
  buildId === undefined
    ? {}
    : {
        workerDeploymentOptions: {
          version: { deploymentName: DEPLOYMENT_NAME, buildId },
          useWorkerVersioning: true,
          defaultVersioningBehavior: 'AUTO_UPGRADE',
        },
      };

/**
 * The slots of a queue; those of the background lane are as those of its twin
 * in the interactive lane.
 */
const slotsOf = (ofQueue: WorkerQueue): Partial<WorkerOptions> => {
  const twin = QUEUES_OF_BOTH_LANES.find(
    (queue) => TASK_QUEUES.background(queue) === ofQueue,
  );
  return SLOTS[twin ?? ofQueue] ?? SLOTS_OF_SOURCE;
};

/** How many activities of a queue one worker runs at a time. */
export const activitySlots = (queue: WorkerQueue): number =>
  slotsOf(queue).maxConcurrentActivityTaskExecutions ?? 0;
