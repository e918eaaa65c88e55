import { commandLineOf } from '../../src/lib/command-line-of.ts';
import { exitWithParent } from '../../src/lib/exit-with-parent.ts';
import { STOP_TIMEOUT_MS } from './stack.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * One Ctrl-C may arrive several times: from the terminal, and forwarded by npm.
 */
const SAME_SIGNAL_MS = 1_000;

/**
 * Calls `onFirst` at the first signal that asks this process to stop, and
 * `onAgain` at each later one. Signals within a second of the first are repeats
 * of it and are ignored; without a listener they would end the process before
 * its parts. The end of the process that started this one (npm, node --watch) counts as
 * a signal too.
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

/**
 * Calls `onGone` once when npm, which started this process, has ended: killed
 * at once, it forwards no signal. Does nothing for a process that npm did not
 * start. The scripts of package.json use `exec`, so no shell stands between npm
 * and this process.
 */
export async function watchNpm(onGone: () => void): Promise<void> {
  const npm = process.ppid;
  if (!(await commandLineOf(npm))?.startsWith('npm')) return;
  const timer = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(timer);
    onGone();
  }, POLL_MS);
  timer.unref();
}
