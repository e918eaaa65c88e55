import type { ProcessName } from './stack-options.ts';

const WORKERS = ['worker', 'worker-background'] as const satisfies readonly ProcessName[];
const ALL: readonly ProcessName[] = ['simulator', 'gateway', 'receiver', ...WORKERS];

/** The processes that use a folder or file of src. What is not listed is used by all. */
const USERS: Readonly<Record<string, readonly ProcessName[]>> = {
  activities: WORKERS,
  cluster: [],
  embedded: [],
  exchange: ['gateway', ...WORKERS],
  'gateway.ts': ['gateway'],
  library: [],
  orchestrator: ['receiver', ...WORKERS],
  'receiver.ts': ['receiver'],
  simulator: ['simulator'],
  'simulator.ts': ['simulator'],
  starter: [],
  worker: WORKERS,
  'worker.ts': WORKERS,
  workflows: WORKERS,
};

/** Returns the processes to restart after changes of these files (paths relative to src), in start order. */
export function changedParts(files: Iterable<string>): ProcessName[] {
  const users = new Set([...files].flatMap((file) => USERS[file.split(/[\\/]/)[0] ?? ''] ?? ALL));
  return ALL.filter((name) => users.has(name));
}
