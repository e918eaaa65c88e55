import { readdirSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/**
 * Beside processes of normal priority that want all processors, a process of
 * this niceness gets a third of what one of them gets.
 */
const NICENESS = 5;

/**
 * Lowers the priority of this process to take the time that others leave,
 * unless it is lower already: only root may raise it. On Linux each thread has
 * its own priority, and where processes are scheduled by session (autogroup),
 * that of the session counts.
 */
export function yieldToOthers(): void {
  if (getPriority() >= NICENESS) return;
  setPriority(NICENESS);
  if (process.platform !== 'linux') return;
  for (const thread of readdirSync('/proc/self/task'))
    ignoreMissing(() => setPriority(Number(thread), NICENESS));
  ignoreMissing(() => writeFileSync('/proc/self/autogroup', String(NICENESS)));
}

/**
 * A thread that has ended meanwhile; a kernel or a container without autogroup.
 */
function ignoreMissing(change: () => void): void {
  try {
    change();
  } catch {
    // The process works as well, only at its old priority.
  }
}
