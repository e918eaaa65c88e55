/** How every command of the starter ends. */
export const EXIT = {
  done: 0,
  error: 1,
  usage: 2,
  partial: 3,
  failed: 4,
  refused: 5,
  running: 6,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done; what was followed to its end has completed',
  error: 'error: something could not be reached, or answered what it must not',
  usage: 'wrong options, or the configuration is not complete',
  partial: 'some completed, some did not',
  failed: 'nothing completed, or it was cancelled',
  refused: 'not found, or refused by the exchange (no such id, not possible now, key not accepted)',
  running: 'still running (status; --timeout is over)',
  interrupted: 'Ctrl-C; what was started goes on',
};

/** For the end of every help text. */
export const EXIT_CODES_HELP = [
  'Exit codes:',
  ...(Object.keys(EXIT) as (keyof typeof EXIT)[]).map(
    (name) => `  ${String(EXIT[name]).padStart(3)}  ${MEANINGS[name]}`,
  ),
].join('\n');

export type OverallState = 'running' | 'completed' | 'partial' | 'failed' | 'cancelled';

export function exitCodeOf(state: OverallState): ExitCode {
  switch (state) {
    case 'completed':
      return EXIT.done;
    case 'partial':
      return EXIT.partial;
    case 'failed':
    case 'cancelled':
      return EXIT.failed;
    case 'running':
      return EXIT.running;
  }
}

/** One state for several: all alike, still running while one is, else partial. */
export function combinedState(states: readonly OverallState[]): OverallState {
  const [first = 'failed'] = states;
  if (states.every((state) => state === first)) return first;
  if (states.includes('running')) return 'running';
  const someData = states.some((state) => state === 'completed' || state === 'partial');
  return someData ? 'partial' : 'failed';
}
