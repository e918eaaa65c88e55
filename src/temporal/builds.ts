import type { Client } from '@temporalio/client';
import { TASK_QUEUES } from '../contract/temporal.ts';
import type { TemporalClient } from './client.ts';
import { OPEN_RUNS } from './open-runs.ts';

/**
 * All our workers are one Temporal Worker Deployment; its versions are builds
 * of this repository.
 */
export const DEPLOYMENT_NAME = 'medical-data-exchange';

export interface Build {
  id: string;
  /**
   * `drained`: no open run is pinned to it any more, so its workers may be
   * stopped.
   */
  status: 'current' | 'ramping' | 'draining' | 'drained' | 'inactive';
  /** When it last became current, in seconds since the epoch. */
  lastCurrentAt?: number;
}

/** Which build Temporal sends new runs, and runs that are not pinned, to. */
export interface Builds {
  /** undefined: workers without versioning. */
  current?: string;
  ramping?: { id: string; percent: number };
  all: Build[];
}

export interface PinnedRun {
  workflowId: string;
  runId: string;
}

/** By the numbers of Temporal's enum. */
const STATUSES: readonly Build['status'][] = [
  'inactive',
  'inactive',
  'current',
  'ramping',
  'draining',
  'drained',
];
const TASK_QUEUE_TYPE_WORKFLOW = 1;
const GRPC_NOT_FOUND = 5;
const GRPC_FAILED_PRECONDITION = 9;
/**
 * Longer than a long poll (1 minute), after which a living worker shows itself
 * again.
 */
const POLLED_WITHIN_MS = 75_000;

/**
 * Returns the builds that Temporal knows; none before the first worker with
 * versioning has polled.
 */
export async function readBuilds({
  connection,
  options: { namespace },
}: TemporalClient): Promise<Builds> {
  try {
    const { workerDeploymentInfo } =
      await connection.workflowService.describeWorkerDeployment({
        namespace,
        deploymentName: DEPLOYMENT_NAME,
      });
    const { routingConfig, versionSummaries } = workerDeploymentInfo ?? {};
    const ramping = routingConfig?.rampingDeploymentVersion?.buildId;
    return {
      ...optional('current', routingConfig?.currentDeploymentVersion?.buildId),
      ...(ramping
        ? {
            ramping: {
              id: ramping,
              percent: routingConfig?.rampingVersionPercentage ?? 0,
            },
          }
        : {}),
      all: (versionSummaries ?? []).map(
        ({ deploymentVersion, status, lastCurrentTime }) => ({
          id: deploymentVersion?.buildId ?? '',
          status: STATUSES[status ?? 0] ?? 'inactive',
          ...optional('lastCurrentAt', Number(lastCurrentTime?.seconds ?? 0)),
        }),
      ),
    };
  } catch (error) {
    if (thrownCode(error) === GRPC_NOT_FOUND) return { all: [] };
    throw error;
  }
}

/**
 * Sends new runs, and open ones that are not pinned, to a build; undefined: to
 * workers without versioning. Returns false if Temporal refuses, because no
 * worker of the build has polled all the task queues yet.
 */
export const setCurrentBuild = (
  client: TemporalClient,
  id: string | undefined,
): Promise<boolean> =>
  accepted(
    client.connection.workflowService.setWorkerDeploymentCurrentVersion(
      target(client, id),
    ),
  );

/**
 * Sends this share of new runs, and of open ones that are not pinned, to a
 * build; undefined ends the ramp.
 */
export const setRampingBuild = (
  client: TemporalClient,
  id: string | undefined,
  percentage: number,
): Promise<boolean> =>
  accepted(
    client.connection.workflowService.setWorkerDeploymentRampingVersion({
      ...target(client, id),
      percentage,
    }),
  );

/**
 * The builds whose workers poll now; `unversioned` for workers without
 * versioning.
 */
export async function pollingBuilds({
  connection,
  options: { namespace },
}: TemporalClient): Promise<{ ids: Set<string>; unversioned: boolean }> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: TASK_QUEUES.exchange },
    taskQueueType: TASK_QUEUE_TYPE_WORKFLOW,
  });
  const alive = (pollers ?? []).filter(
    ({ lastAccessTime }) =>
      Number(lastAccessTime?.seconds ?? 0) * 1_000 >
      Date.now() - POLLED_WITHIN_MS,
  );
  const ids = alive.map(({ deploymentOptions }) =>
    versionedBuild(deploymentOptions),
  );
  return {
    ids: new Set(ids.filter((id) => id !== undefined)),
    unversioned: ids.includes(undefined),
  };
}

/** The open runs that are pinned to a build. */
export async function* pinnedRuns(
  client: Client,
  build: string,
): AsyncGenerator<PinnedRun> {
  const query = [
    OPEN_RUNS,
    "TemporalWorkflowVersioningBehavior = 'Pinned'",
    `TemporalWorkerDeploymentVersion = '${DEPLOYMENT_NAME}:${build}'`,
  ].join(' AND ');
  for await (const { workflowId, runId } of client.workflow.list({ query }))
    yield { workflowId, runId };
}

/**
 * Unpins a run: it goes on with the current build. A run that has ended
 * meanwhile is fine.
 */
export async function unpinRun(
  client: TemporalClient,
  run: PinnedRun,
): Promise<void> {
  try {
    await client.connection.workflowService.updateWorkflowExecutionOptions({
      namespace: client.options.namespace,
      workflowExecution: run,
      workflowExecutionOptions: { versioningOverride: { autoUpgrade: true } },
      updateMask: { paths: ['versioning_override'] },
    });
  } catch (error) {
    if (thrownCode(error) !== GRPC_NOT_FOUND) throw error;
  }
}

const target = (
  { options: { namespace, identity } }: TemporalClient,
  id: string | undefined,
) => ({
  namespace,
  deploymentName: DEPLOYMENT_NAME,
  buildId: id ?? '',
  identity,
});

async function accepted(request: Promise<unknown>): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    const code = thrownCode(error);
    if (code === GRPC_NOT_FOUND || code === GRPC_FAILED_PRECONDITION)
      return false;
    throw error;
  }
}

interface DeploymentOptions {
  buildId?: string | null;
  workerVersioningMode?: number | null;
}
const VERSIONED = 2;
const versionedBuild = (
  options: DeploymentOptions | null | undefined,
): string | undefined =>
  options?.workerVersioningMode === VERSIONED
    ? (options.buildId ?? undefined)
    : undefined;

const optional = <K extends string, V>(
  key: K,
  value: V | null | undefined,
): { [P in K]?: V } =>
  (value === undefined || value === null || value === '' || value === 0
    ? {}
    : { [key]: value }) as {
    [P in K]?: V;
  };

const thrownCode = (error: unknown): unknown =>
  (error as { code?: unknown }).code;
