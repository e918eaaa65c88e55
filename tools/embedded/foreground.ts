import { ConfigError } from '../../src/config.ts';
import { EXIT_USAGE } from '../../src/lib/process.ts';
import { createStartProgress, type StartListener } from './start-progress.ts';
import { onStopSignal } from './stop-signals.ts';

/** What a terminal keeps running. */
export interface ForegroundStack {
  pids(): Record<string, number>;
  stop(): Promise<void>;
}

export interface Foreground<S extends ForegroundStack> {
  start(terminal: { print: (line: string) => void; onStart: StartListener; signal: AbortSignal }): Promise<S>;
  /** Called once it runs; resolves when the signal is aborted. */
  run(stack: S, terminal: { print: (line: string) => void; signal: AbortSignal }): Promise<void>;
}

/** Runs a stack in the foreground until Ctrl-C, which stops its parts in order; a second one kills them. */
export async function runForeground<S extends ForegroundStack>({ start, run }: Foreground<S>): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let stack: S | undefined;
  // When the terminal or the reader of the output closes it, the stack must keep running or stop in order.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  onStopSignal(
    () => {
      print('Stopping … (press Ctrl-C again to kill all processes at once)');
      stopping.abort();
    },
    () => endAtOnce(stack, print),
  );
  try {
    print('Starting …');
    const progress = createStartProgress(process.stdout);
    stack = await start({ print, signal, onStart: progress.onStart }).finally(progress.close);
    await run(stack, { print, signal });
    await stack.stop();
    print('Stopped.');
  } catch (error) {
    // Ctrl-C during the start is not a failure.
    if (signal.aborted) print('Stopped.');
    else {
      process.exitCode = error instanceof ConfigError ? EXIT_USAGE : 1;
      const message = error instanceof Error ? error.message : String(error);
      process.stderr.write(`${error instanceof ConfigError ? '' : 'The stack did not start: '}${message}\n`);
    }
  }
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Kills all parts. PostgreSQL and Temporal recover from this at the next start. While they are being started it must not exit:
 * the stopping that the first signal began ends them, by force if necessary.
 */
function endAtOnce(stack: ForegroundStack | undefined, print: (line: string) => void): void {
  if (stack === undefined) {
    print('Still stopping: a process that takes too long is killed.');
    return;
  }
  for (const pid of Object.values(stack.pids())) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has already ended.
    }
  }
  process.exit(1);
}
