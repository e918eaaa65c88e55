import type { ProcessName } from './stack-options.ts';

const ALL: readonly ProcessName[] = ['simulator', 'gateway', 'receiver', 'worker'];

/** The processes that use a folder or file of src. What is not listed is used by all. */
const USERS: Readonly<Record<string, readonly ProcessName[]>> = {
  activities: ['worker'],
  cluster: [],
  embedded: [],
  exchange: ['gateway', 'worker'],
  'gateway.ts': ['gateway'],
  library: [],
  orchestrator: ['receiver', 'worker'],
  'receiver.ts': ['receiver'],
  simulator: ['simulator'],
  'simulator.ts': ['simulator'],
  starter: [],
  worker: ['worker'],
  'worker.ts': ['worker'],
  workflows: ['worker'],
};

/** Returns the processes to restart after changes of these files (paths relative to src), in start order. */
export function changedParts(files: Iterable<string>): ProcessName[] {
  const users = new Set([...files].flatMap((file) => USERS[file.split(/[\\/]/)[0] ?? ''] ?? ALL));
  return ALL.filter((name) => users.has(name));
}
