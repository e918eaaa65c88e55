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
import { SOURCE_TYPES } from '../contract/source-types.ts';
import { TASK_QUEUES } from '../contract/temporal.ts';
import { isTracing } from '../lib/tracing/spans.ts';
import { DEPLOYMENT_NAME } from './builds.ts';
import { type RefusalSinks, refusalOf } from './refusals-in-workflows.ts';
import { QUEUES_OF_BOTH_LANES, WORKER_QUEUES, type WorkerQueue } from './task-queues.ts';
import { activityTraces, runTraces, TRACE_INTERCEPTORS } from './tracing/in-processes.ts';

/**
 * Slots for two cores. Workflow tasks and the exchange's activities use CPU; the sources' activities mostly wait for the
 * network. With the SDK's defaults (40 workflow tasks and 100 activities per worker), tasks would queue inside the process,
 * where the server can no longer assign them to another worker.
 */
const WORKFLOW_WORKERS = {
  exchange: {
    maxConcurrentWorkflowTaskExecutions: 20,
    maxConcurrentActivityTaskExecutions: 20,
    maxCachedWorkflows: 200,
  },
  orchestrator: {
    maxConcurrentWorkflowTaskExecutions: 10,
    maxConcurrentActivityTaskExecutions: 20,
    maxCachedWorkflows: 100,
  },
} as const;
const SOURCE_WORKERS = {
  maxConcurrentActivityTaskExecutions: 20,
  // A retry resumes from PostgreSQL and not from the heartbeat, so no more of them are sent than the timeout requires.
  maxHeartbeatThrottleInterval: '10 s',
} as const satisfies Partial<WorkerOptions>;
/** A slot for each destination that is being caught up; deliveries wait for receivers. */
const WEBHOOK_ACTIVITY_SLOTS = 20;
/** Few, because a partner that hangs holds each of them. */
const PARTNER_ACTIVITY_SLOTS = 10;
/** One result is built on each of two cores. */
const BUILD_ACTIVITY_SLOTS = 2;

const COMMON: Partial<WorkerOptions> = {
  shutdownGraceTime: '20 s',
  // Each heartbeat is a billed action in Temporal Cloud. It also brings cancellations, so they arrive within this time.
  maxHeartbeatThrottleInterval: '5 s',
  workflowTaskPollerBehavior: { type: 'autoscaling', minimum: 1, initial: 2, maximum: 10 },
  activityTaskPollerBehavior: { type: 'autoscaling', minimum: 1, initial: 2, maximum: 10 },
};

/** Options of a worker that runs orchestrator workflows. */
export const ORCHESTRATOR_WORKER_OPTIONS: Partial<WorkerOptions> = {
  ...COMMON,
  ...WORKFLOW_WORKERS.orchestrator,
};

/** The interceptors of workflow code, for the bundler: sources here, scripts in the packed library. */
export const WORKFLOW_INTERCEPTORS = [
  fileURLToPath(new URL(`./refusals-in-workflows${extname(import.meta.url)}`, import.meta.url)),
  TRACE_INTERCEPTORS,
];

/** Takes note that input which was not encrypted has been refused: `signal uploaded of bulkPatientCreate`. */
export type OnRefused = (what: string) => void;

/**
 * What surrounds all workflows and activities: input that is not encrypted is refused, and traces are passed on. The sinks of
 * traces are there without traces too, because runs that were started with one report their end.
 */
export function interceptionOptions(onRefused?: OnRefused) {
  const report = (what: string, workflowId?: string) => {
    Runtime.instance().logger.warn(`not encrypted, so refused: ${what}`, { workflowId });
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
        report(`input of the activity ${info.activityType}`, info.workflowExecution?.workflowId);
        throw failure;
      },
    },
  });
  return {
    sinks: { ...runTraces, refusals },
    interceptors: { activity: isTracing() ? [refusing, activityTraces] : [refusing] },
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

/** Creates a Temporal worker for each task queue in `activities`. Run them with `worker.run()`. */
export async function createWorkers(options: WorkersOptions): Promise<Worker[]> {
  const { connection, namespace, dataConverter } = options;
  const queues = WORKER_QUEUES.filter((queue) => options.activities[queue] !== undefined);
  return Promise.all(
    queues.map((taskQueue) =>
      Worker.create({
        ...COMMON,
        ...optionsOf(taskQueue, options),
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
 * Every queue is part of the build, those of the sources too: an activity runs with the code of the build that scheduled it.
 * Workflows that are pinned to their build say so themselves (workflows/index.ts).
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

/** How many activities of a queue one worker runs at a time; of a queue of the background lane, as of its twin. */
export function activitySlots(ofQueue: WorkerQueue): number {
  const queue = twinOf(ofQueue);
  if (queue === TASK_QUEUES.exchange || queue === TASK_QUEUES.orchestrator)
    return WORKFLOW_WORKERS[queue].maxConcurrentActivityTaskExecutions;
  if (queue === TASK_QUEUES.webhooks) return WEBHOOK_ACTIVITY_SLOTS;
  if (queue === TASK_QUEUES.partners) return PARTNER_ACTIVITY_SLOTS;
  if (queue === TASK_QUEUES.builds) return BUILD_ACTIVITY_SLOTS;
  return SOURCE_WORKERS.maxConcurrentActivityTaskExecutions;
}

function optionsOf(ofQueue: WorkerQueue, options: WorkersOptions): Partial<WorkerOptions> {
  const { workflowBundle } = options;
  const queue = twinOf(ofQueue);
  if (queue === TASK_QUEUES.exchange || queue === TASK_QUEUES.orchestrator)
    return { ...WORKFLOW_WORKERS[queue], workflowBundle };
  if (SOURCE_TYPES.some((source) => queue === TASK_QUEUES.source(source))) return SOURCE_WORKERS;
  return { maxConcurrentActivityTaskExecutions: activitySlots(queue) };
}

/** The queue of the interactive lane with the same steps, for a queue of the background lane; any other queue itself. */
const twinOf = (queue: WorkerQueue): WorkerQueue =>
  QUEUES_OF_BOTH_LANES.find((twin) => TASK_QUEUES.background(twin) === queue) ?? queue;
