import { readdir, readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../src/lib/run-command.ts';

const ORDERLY_MS = 5_000;
const KILLED_MS = 10_000;
const LOOK_EVERY_MS = 100;

/**
 * Ends all processes that work on a folder, and removes it. One that does not
 * stop in order is killed.
 */
export async function clearFolder(folder: string): Promise<void> {
  // PostgreSQL ends its sessions at SIGINT; at SIGTERM it would wait for their
  // clients.
  await endProcesses(folder, 'SIGINT', ORDERLY_MS);
  await endProcesses(folder, 'SIGKILL', KILLED_MS);
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Repeated, because a process that is being ended may just have started another
 * one.
 */
async function endProcesses(
  folder: string,
  signal: NodeJS.Signals,
  withinMs: number,
): Promise<void> {
  const signalled = new Set<number>();
  for (
    const giveUpAt = Date.now() + withinMs;
    Date.now() < giveUpAt;
    await sleep(LOOK_EVERY_MS)
  ) {
    const pids = await processesOf(folder);
    if (pids.length === 0) return;
    for (const pid of pids)
      if (!signalled.has(pid)) {
        signalled.add(pid);
        sendSignal(pid, signal);
      }
  }
}

/**
 * Processes that name the folder in their command line or their environment
 * (TMPDIR), except this one.
 */
export async function processesOf(folder: string): Promise<number[]> {
  const found =
    process.platform === 'linux'
      ? await listedByProc(folder)
      : await listedByPs(folder);
  return found.filter((pid) => pid !== process.pid);
}

async function listedByProc(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const texts = await Promise.all(
    pids.map(async (pid) => {
      const read = (name: string) =>
        readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
      // Both are empty for a process that has ended but that its parent has not
      // collected yet.
      return (await read('cmdline')) + (await read('environ'));
    }),
  );
  return pids.filter((_, index) => texts[index]?.includes(folder));
}

async function listedByPs(folder: string): Promise<number[]> {
  const listed = await runCommand('ps', ['-axEww', '-o', 'pid=,command='], {
    timeoutMs: 240_000,
  });
  return listed
    .split('\n')
    .filter((line) => line.includes(folder))
    .map((line) => Number.parseInt(line, 10));
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has already ended.
  }
}
