import colors from 'picocolors';
import {
  ConfigError,
  type givenVariables,
  sourceVariableNames,
} from '../../src/config.ts';
import { EXIT_USAGE } from '../../src/lib/process.ts';
import type { StackConnection } from '../../src/local-stack/connection-file.ts';
import type { StackOptions } from './stack-options.ts';
import { createStartProgress, type StartListener } from './start-progress.ts';
import { onStopSignal } from './stop-signals.ts';

/** What a terminal keeps running. */
export interface ForegroundStack {
  pids(): Record<string, number>;
  stop(): Promise<void>;
}

export interface Foreground<S extends ForegroundStack> {
  start(terminal: {
    print: (line: string) => void;
    onStart: StartListener;
    signal: AbortSignal;
  }): Promise<S>;
  /** Called once it runs; resolves when the signal is aborted. */
  run(
    stack: S,
    terminal: { print: (line: string) => void; signal: AbortSignal },
  ): Promise<void>;
}

/**
 * Runs a stack in the foreground until Ctrl-C, which stops its parts in order;
 * a second one kills them.
 */
export async function runForeground<S extends ForegroundStack>({
  start,
  run,
}: Foreground<S>): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let stack: S | undefined;
  // When the terminal or the reader of the output closes it, the stack must
  // keep running or stop in order.
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', () => undefined);
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
    stack = await start({ print, signal, onStart: progress.onStart }).finally(
      progress.close,
    );
    await run(stack, { print, signal });
    await stack.stop();
    print('Stopped.');
  } catch (error) {
    // Ctrl-C during the start is not a failure.
    if (signal.aborted) print('Stopped.');
    else {
      process.exitCode = error instanceof ConfigError ? EXIT_USAGE : 1;
      const message = error instanceof Error ? error.message : String(error);
      process.stderr.write(
        `${error instanceof ConfigError ? '' : 'The stack did not start: '}${message}\n`,
      );
    }
  }
}

/**
 * Kills all parts. PostgreSQL and Temporal recover from this at the next start.
 * While they are being started it must not exit: the stopping that the first
 * signal began ends them, by force if necessary.
 */
function endAtOnce(
  stack: ForegroundStack | undefined,
  print: (line: string) => void,
): void {
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

/**
 * The text that `npm start` prints: addresses, API key, and the next command,
 * which begins with `starter`.
 */
export function describeStack(
  connection: StackConnection,
  dataDir: string,
  starter: string,
): string {
  const rows: [string, string][] = [
    ['Gateway', connection.baseUrl],
    ['API reference', `${connection.baseUrl}/reference`],
    ['Temporal UI', temporalUi(connection)],
    ['API key', connection.apiKey],
    ['Facility', connection.facilityId],
    ['Webhook receiver', `${connection.receiverUrl}/webhooks`],
    ['Sources', `${connection.simulatorUrl} (simulated)`],
    ...gatewayRows(connection.gatewayAccount),
    ['Data and logs', dataDir],
  ];
  const width = Math.max(...rows.map(([label]) => label.length)) + 2;
  const lines = rows.map(
    ([label, value]) => `  ${colors.bold(label.padEnd(width))}${value}`,
  );
  return [
    '',
    ...lines,
    '',
    `Everything is running; Ctrl-C stops it. In another terminal, try: ${starter} onboard --sample keith-kiehn`,
  ].join('\n');
}

/** The account whose source is the simulator's IHE gateway. */
const gatewayRows = (
  account: StackConnection['gatewayAccount'],
): [string, string][] =>
  account === undefined
    ? []
    : [
        ['API key, IHE', `${account.apiKey} (its source is an IHE gateway)`],
        ['Facility, IHE', account.facilityId],
      ];

/** The link opens the UI in the first browser that uses it. */
function temporalUi({
  temporalUiLink,
  temporalUiUrl,
  temporalAddress,
}: StackConnection): string {
  if (temporalUiLink !== undefined) return `${temporalUiLink} (works once)`;
  return (
    temporalUiUrl ??
    `not configured (Temporal is at ${temporalAddress}; set TEMPORAL_UI_URL)`
  );
}

/**
 * The words after a command. An unknown one ends the process: a misspelt option
 * must not be passed over.
 */
export function givenWords<W extends string>(
  command: string,
  known: readonly W[],
): ReadonlySet<W> {
  const isKnown = (word: string): word is W =>
    (known as readonly string[]).includes(word);
  const given = process.argv.slice(2);
  const unknown = given.filter((word) => !isKnown(word));
  if (unknown.length > 0) {
    process.stderr.write(
      `${command}: unknown: ${unknown.join(' ')}; it takes ${known.join(' and ') || 'no words'}; the data folder is DATA_DIR\n`,
    );
    process.exit(EXIT_USAGE);
  }
  return new Set(given.filter(isKnown));
}

/**
 * Reads which external services replace parts of the stack: DATABASE_URL,
 * TEMPORAL_ADDRESS, and for each source its `…_BASE_URL` with its other
 * variables. Throws ConfigError.
 */
export function outsideParts(
  given: typeof givenVariables,
): NonNullable<StackOptions['outside']> {
  const { DATABASE_URL: databaseUrl } = given(['DATABASE_URL']);
  const temporal = given([
    'TEMPORAL_ADDRESS',
    'TEMPORAL_NAMESPACE',
    'TEMPORAL_UI_URL',
  ]);
  const sources: NonNullable<StackOptions['outside']>['sources'] = {};
  for (const prefix of ['HIE', 'PHARMACY', 'LAB'] as const) {
    const variables = given(sourceVariableNames(prefix));
    if (`${prefix}_BASE_URL` in variables)
      sources[prefix] = variables as Record<string, string>;
  }
  return {
    databaseUrl,
    sources,
    ...(temporal.TEMPORAL_ADDRESS === undefined
      ? {}
      : {
          temporal: {
            address: temporal.TEMPORAL_ADDRESS,
            namespace: temporal.TEMPORAL_NAMESPACE ?? 'default',
            uiUrl: temporal.TEMPORAL_UI_URL,
            environment: given([
              'TEMPORAL_API_KEY',
              'TEMPORAL_TLS_CA',
              'TEMPORAL_TLS_CERT',
              'TEMPORAL_TLS_KEY',
            ]) as Record<string, string>,
          },
        }),
  };
}
