import { watch } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ProcessName } from './stack-options.ts';

const SOURCES = fileURLToPath(new URL('../', import.meta.url));
/** An editor writes a file several times, and a checkout writes many files. */
const SETTLED_MS = 200;

/** Restarts the processes whose code changes, until `signal` is aborted. */
export async function restartOnChange(
  restart: (name: ProcessName) => Promise<void>,
  { signal, log }: { signal: AbortSignal; log: (line: string) => void },
): Promise<void> {
  const changed = new Set<string>();
  const settle = async () => {
    await sleep(SETTLED_MS);
    const files = [...changed];
    changed.clear();
    if (signal.aborted) return;
    const names = changedParts(files);
    if (names.length > 0) log(`${files.join(', ')} changed; restarting ${names.join(', ')}`);
    if (files.some((file) => file.startsWith('embedded') || file.endsWith('.sql')))
      log('To apply changes of migrations or of src/embedded, restart "npm run dev".');
    await Promise.all(names.map(restart));
  };
  try {
    for await (const { filename } of watch(SOURCES, { recursive: true, signal })) {
      if (filename === null) continue;
      if (changed.size === 0) void settle();
      changed.add(filename);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

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
