import type { ProcessName } from './stack-options.ts';

const ALL: readonly ProcessName[] = ['simulator', 'gateway', 'receiver', 'worker'];

/** Where a folder or file of src is not used by all processes, those that use it. */
const USERS: Readonly<Record<string, readonly ProcessName[]>> = {
  activities: ['worker'],
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

/** The processes that have to start again when these files, named from src, have changed. In the order of starting. */
export function changedParts(files: Iterable<string>): ProcessName[] {
  const users = new Set([...files].flatMap((file) => USERS[file.split(/[\\/]/)[0] ?? ''] ?? ALL));
  return ALL.filter((name) => users.has(name));
}
