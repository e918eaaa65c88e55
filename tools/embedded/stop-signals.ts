import { readFile } from 'node:fs/promises';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import { exitWithParent } from '../../src/lib/exit-with-parent.ts';
import { runCommand } from '../../src/lib/run-command.ts';
import { STOP_TIMEOUT_MS } from './stack.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** One Ctrl-C may arrive several times: from the terminal, and forwarded by npm and tsx. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Calls `onFirst` at the first signal that asks this process to stop, and `onAgain` at each later one. Signals within a
 * second of the first are repeats of it and are ignored; without a listener they would end the process before its parts.
 * The end of the process that started this one (tsx, npm) counts as a signal too.
 */
export function onStopSignal(onFirst: () => void, onAgain: () => void): void {
  let firstAtMs: number | undefined;
  for (const signal of STOP_SIGNALS)
    process.on(signal, () => {
      if (firstAtMs === undefined) {
        firstAtMs = Date.now();
        onFirst();
      } else if (Date.now() - firstAtMs > SAME_SIGNAL_MS) onAgain();
    });
  exitWithParent({ withinMs: STOP_TIMEOUT_MS });
  void watchNpm(() => process.kill(process.pid, 'SIGTERM'));
}

const POLL_MS = 1_000;
/** The processes between `npm start` and this one: npm, the shell of its script, and tsx. */
const LAUNCHER = /^npm\b|^\S*sh -c |\btsx\b/;

/**
 * Calls `onGone` once when one of the processes through which npm runs this one has ended. npm forwards SIGTERM only to
 * the shell of its script, which dies without forwarding it. Does nothing for a process that was not started by npm.
 */
export async function watchNpm(onGone: () => void): Promise<void> {
  const launchers = await launchersOf(process.pid);
  if (!launchers.some(({ commandLine }) => commandLine.startsWith('npm'))) return;
  const timer = setInterval(() => {
    if (launchers.every(({ pid }) => isAlive(pid))) return;
    clearInterval(timer);
    onGone();
  }, POLL_MS);
  timer.unref();
}

async function launchersOf(pid: number): Promise<{ pid: number; commandLine: string }[]> {
  const found: { pid: number; commandLine: string }[] = [];
  for (let parent = await parentOf(pid); parent !== undefined; parent = await parentOf(parent)) {
    const commandLine = (await commandLineOf(parent)) ?? '';
    if (!LAUNCHER.test(commandLine)) break;
    found.push({ pid: parent, commandLine });
  }
  return found;
}

async function parentOf(pid: number): Promise<number | undefined> {
  const text =
    process.platform === 'linux'
      ? // The name of the program, in brackets, may contain spaces.
        (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(') ').at(-1)?.split(' ')[1]
      : await runCommand('ps', ['-o', 'ppid=', '-p', String(pid)], { timeoutMs: 5_000 }).catch(() => '');
  const parent = Number(text);
  return Number.isInteger(parent) && parent > 1 ? parent : undefined;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
