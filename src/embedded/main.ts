import { ConfigError, givenVariables, readConfig } from '../config.ts';
import { describeStack } from './describe-stack.ts';
import { outsideParts } from './outside-parts.ts';
import { restartOnChange } from './restart-on-change.ts';
import { type Stack, startStack } from './stack.ts';

/** `npm start`: the whole system on this machine, in the foreground, until Ctrl-C. `npm run dev`: the same, with --watch. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** One Ctrl-C may arrive several times: from the terminal, and passed on by npm and tsx. */
const SAME_SIGNAL_MS = 1_000;

const stopping = new AbortController();
let stoppingSince = 0;
let stack: Stack | undefined;

// A closed terminal takes our output away, which must not take the orderly stop away.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const print = (line: string) => void process.stdout.write(`${line}\n`);
for (const signal of STOP_SIGNALS)
  process.on(signal, () => {
    if (stopping.signal.aborted) return Date.now() - stoppingSince > SAME_SIGNAL_MS ? endAtOnce() : undefined;
    stoppingSince = Date.now();
    print('Stopping (once more ends everything at once) …');
    stopping.abort();
  });

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
  stack = await startStack({
    dataDir: config.DATA_DIR,
    logLevel: config.LOG_LEVEL,
    log: print,
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
    signal: stopping.signal,
  });
  print(describeStack(stack.connection, config.DATA_DIR));
  if (process.argv.includes('--watch'))
    await restartOnChange(stack.restart, { signal: stopping.signal, log: print });
  else await untilAborted(stopping.signal);
  await stack.stop();
  print('Stopped.');
} catch (error) {
  // Ctrl-C while it starts is no failure.
  if (stopping.signal.aborted) print('Stopped.');
  else {
    process.exitCode = 1;
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${error instanceof ConfigError ? '' : 'The stack did not start. '}${message}\n`);
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Both servers recover from this at the next start. */
function endAtOnce(): never {
  for (const pid of Object.values(stack?.pids() ?? {})) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone already.
    }
  }
  process.exit(1);
}
