import { watch } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ProcessName } from './stack-options.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const WATCHED = ['src', 'tools'];
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
    if (files.some((file) => file.startsWith(join('tools', 'embedded')) || file.endsWith('.sql')))
      log('To apply changes of migrations or of tools/embedded, restart "npm run dev".');
    await Promise.all(names.map(restart));
  };
  const follow = async (folder: string) => {
    for await (const { filename } of watch(join(PROJECT, folder), { recursive: true, signal })) {
      if (filename === null) continue;
      if (changed.size === 0) void settle();
      changed.add(join(folder, filename));
    }
  };
  try {
    await Promise.all(WATCHED.map(follow));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const WORKERS = ['worker', 'worker-background'] as const satisfies readonly ProcessName[];
const ALL: readonly ProcessName[] = ['simulator', 'gateway', 'receiver', ...WORKERS];

/** The processes that use a folder or file of src or tools. What is not listed is used by all. */
const USERS: Readonly<Record<string, readonly ProcessName[]>> = {
  'src/activities': WORKERS,
  'src/exchange': ['gateway', ...WORKERS],
  'src/gateway.ts': ['gateway'],
  'src/library': [],
  'src/orchestrator': ['receiver', ...WORKERS],
  'src/receiver.ts': ['receiver'],
  'src/starter': [],
  'src/worker': WORKERS,
  'src/worker.ts': WORKERS,
  'src/workflows': WORKERS,
  'tools/cluster': [],
  'tools/demo': [],
  'tools/embedded': [],
  'tools/simulator': ['simulator'],
  'tools/simulator.ts': ['simulator'],
};

/** Returns the processes to restart after changes of these files (paths relative to the project), in start order. */
export function changedParts(files: Iterable<string>): ProcessName[] {
  const users = new Set(
    [...files].flatMap((file) => USERS[file.split(/[\\/]/).slice(0, 2).join('/')] ?? ALL),
  );
  return ALL.filter((name) => users.has(name));
}
