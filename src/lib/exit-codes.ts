/** Exit codes of all commands. */
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
  done: 'success: the command did its work, and work that it followed has completed',
  error:
    'error: a service could not be reached, gave an unexpected response, or a file could not be written',
  usage:
    'invalid options or input, or incomplete configuration; in admin and deployment also: not found, or rejected',
  partial: 'some completed, some did not; or a check found a fault',
  failed: 'nothing completed, or the work was cancelled',
  refused:
    'not found, or rejected (unknown id, not possible in this state, API key not accepted)',
  running:
    'still running (when asked with status, or when --timeout has passed)',
  interrupted:
    'Ctrl-C, or the output was closed; work that was started continues',
};

/** Printed at the end of every help text. */
export const EXIT_CODES_HELP = [
  'Exit codes:',
  ...(Object.keys(EXIT) as (keyof typeof EXIT)[]).map(
    (name) => `  ${String(EXIT[name]).padStart(3)}  ${MEANINGS[name]}`,
  ),
].join('\n');

export type OverallState =
  | 'running'
  | 'completed'
  | 'partial'
  | 'failed'
  | 'cancelled';

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

/**
 * The state of several onboardings together: their common state; else running
 * if any runs; else partial or failed.
 */
export function combinedState(states: readonly OverallState[]): OverallState {
  const [first = 'failed'] = states;
  if (states.every((state) => state === first)) return first;
  if (states.includes('running')) return 'running';
  const someData = states.some(
    (state) => state === 'completed' || state === 'partial',
  );
  return someData ? 'partial' : 'failed';
}
