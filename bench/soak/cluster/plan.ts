import type { SeededRandom } from '../../../test/support/seeded-random.ts';
import type { Fault } from '../mixed/plan.ts';

/** One of each kind of process is killed in every round. */
export const KILLED = {
  'gateway killed': ['gateway-1', 'gateway-2'],
  'worker killed': [
    'worker-exchange',
    'worker-sources',
    'worker-background',
    'worker-orchestrator',
  ],
  'receiver killed': ['receiver'],
  'Temporal service killed': [
    'temporal-frontend',
    'temporal-history',
    'temporal-matching',
    'temporal-worker',
  ],
  'S3 server killed': ['seaweedfs'],
} as const;
export const RESTARTED = 'PostgreSQL restarted';
export const ROLLED = 'rolled to a new build';

export const CLUSTER_FAULTS = [...Object.keys(KILLED), RESTARTED, ROLLED];

/** Endless rounds of all kinds. */
export function* planClusterFaults(random: SeededRandom): Generator<Fault> {
  for (;;)
    for (const kind of random.shuffle(CLUSTER_FAULTS)) {
      const targets: readonly string[] = KILLED[
        kind as keyof typeof KILLED
      ] ?? [kind === RESTARTED ? 'PostgreSQL' : 'everything'];
      yield {
        kind,
        target: random.pick(targets),
        seconds: 0,
        pauseSeconds: random.between(2, 8),
      };
    }
}
