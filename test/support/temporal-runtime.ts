import { Runtime } from '@temporalio/worker';
import { pino } from 'pino';
import { installTemporalRuntime } from '../../src/temporal/runtime.ts';

let take: ((line: string) => void) | undefined;

/**
 * Once per process, which several files share: every file that makes a worker
 * or its connection calls this first, because the SDK otherwise installs a
 * runtime of its own, and then no other. Its logs are lost, because failures
 * are what these tests are about.
 */
export function installTestRuntime(): void {
  if (Runtime._instance === undefined)
    installTemporalRuntime(
      pino({ level: 'trace' }, { write: (line: string) => take?.(line) }),
    );
}

/** Takes the SDK's log lines until `stop`. */
export function takeRuntimeLogs(): { lines: string[]; stop(): void } {
  installTestRuntime();
  const lines: string[] = [];
  take = (line) => void lines.push(line);
  return {
    lines,
    stop() {
      take = undefined;
    },
  };
}
