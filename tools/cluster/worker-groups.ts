import { BACKGROUND_QUEUES } from '../../src/temporal/worker-queues.ts';
import type { StackSite } from '../embedded/open-stack.ts';
import { WORKER_NODE_ARGS } from '../embedded/stack.ts';
import type { Environment } from '../embedded/stack-environment.ts';

/** The task queues of each worker process (WORKER_QUEUES). */
export const WORKER_GROUPS = {
  'worker-exchange': 'exchange webhooks partners builds',
  'worker-sources': 'source-hie source-pharmacy source-lab',
  'worker-orchestrator': 'orchestrator',
  'worker-background': BACKGROUND_QUEUES.join(' '),
} as const;

export const buildName = (build: number): string => `build-${build}`;
/** As the processes of a build are named in logs and pid files. */
export const workerNames = (build: number): string[] =>
  Object.keys(WORKER_GROUPS).map((group) => `${group}-${build}`);

/**
 * Starts the workers of a build: beside those of others, or alone. Alone they take over from whatever build is current in
 * Temporal, because an earlier run of the cluster may have been rolled. A worker that is started again does not take over.
 */
export async function startWorkers(
  site: StackSite,
  environment: Environment,
  { build, alone = false }: { build: number; alone?: boolean },
): Promise<void> {
  await Promise.all(
    Object.entries(WORKER_GROUPS).map(([group, queues]) => {
      let versioning = alone ? 'alone' : 'on';
      return site.startNode(`${group}-${build}`, () => {
        const WORKER_VERSIONING = versioning;
        versioning = 'on';
        return {
          entry: 'src/worker.ts',
          nodeArgs: WORKER_NODE_ARGS,
          environment: {
            ...environment,
            WORKER_QUEUES: queues,
            WORKER_VERSIONING,
            BUILD_ID: buildName(build),
            WORKER_PORT: '0',
          },
        };
      });
    }),
  );
}
