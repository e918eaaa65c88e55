import { ConfigError, givenVariables, readConfig } from '../config.ts';
import { MLLP_VARIABLES } from '../exchange/notifications/mllp/open-mllp.ts';
import { TRACE_VARIABLES } from '../lib/tracing/config.ts';
import { describeStack } from './describe-stack.ts';
import { outsideParts } from './outside-parts.ts';
import { restartOnChange } from './restart-on-change.ts';
import { type Stack, startStack } from './stack.ts';
import { createStartProgress } from './start-progress.ts';
import { onStopSignal } from './stop-signals.ts';

/** Limits of a gateway, passed on if they are set. */
const LIMITS = [
  'DATABASE_POOL_MAX',
  'ACCOUNT_CONNECTIONS_MAX',
  'SHARED_CONNECTIONS_MAX',
  'ACCOUNT_REQUESTS_MAX',
] as const;

/** `npm start`: runs the whole system on this machine in the foreground until Ctrl-C. `npm run dev` adds --watch; `-- --observe` starts Prometheus and Grafana too. */
const stopping = new AbortController();
let stack: Stack | undefined;

// When the terminal or the reader of the output closes it, the stack must keep running or stop in order.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const print = (line: string) => void process.stdout.write(`${line}\n`);
onStopSignal(() => {
  print('Stopping … (press Ctrl-C again to kill all processes at once)');
  stopping.abort();
}, endAtOnce);

try {
  const config = readConfig([
    'DATA_DIR',
    'LOG_LEVEL',
    'POSTGRES_PORT',
    'TEMPORAL_PORT',
    'TEMPORAL_UI_PORT',
    'SIMULATOR_PORT',
    'GATEWAY_PORT',
    'RECEIVER_PORT',
    'WORKER_PORT',
  ]);
  print('Starting …');
  const progress = createStartProgress(process.stdout);
  stack = await startStack({
    dataDir: config.DATA_DIR,
    logLevel: config.LOG_LEVEL,
    log: print,
    onStart: progress.onStart,
    ports: {
      postgres: config.POSTGRES_PORT,
      temporal: config.TEMPORAL_PORT,
      temporalUi: config.TEMPORAL_UI_PORT,
      simulator: config.SIMULATOR_PORT,
      gateway: config.GATEWAY_PORT,
      receiver: config.RECEIVER_PORT,
      worker: config.WORKER_PORT,
    },
    outside: outsideParts(givenVariables),
    environment: {
      gateway: givenVariables([...LIMITS, ...MLLP_VARIABLES, 'TRUSTED_PROXIES', ...TRACE_VARIABLES]),
      worker: givenVariables(['DATABASE_POOL_MAX', 'WORKER_VERSIONING', 'BUILD_ID', ...TRACE_VARIABLES]),
      receiver: givenVariables(TRACE_VARIABLES),
    },
    observe: process.argv.includes('--observe'),
    signal: stopping.signal,
  }).finally(progress.close);
  print(describeStack(stack.connection, config.DATA_DIR));
  if (process.argv.includes('--watch'))
    await restartOnChange(stack.restart, { signal: stopping.signal, log: print });
  else await untilAborted(stopping.signal);
  await stack.stop();
  print('Stopped.');
} catch (error) {
  // Ctrl-C during the start is not a failure.
  if (stopping.signal.aborted) print('Stopped.');
  else {
    process.exitCode = 1;
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${error instanceof ConfigError ? '' : 'The stack did not start: '}${message}\n`);
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Kills all parts. PostgreSQL and Temporal recover from this at the next start. While they are being started it must not exit:
 * the stopping that the first signal began ends them, by force if necessary.
 */
function endAtOnce(): void {
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
