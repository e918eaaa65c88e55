/** How a process ended: with an exit code, or by a signal. */
export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A started process of the stack. */
export interface RunningPart {
  readonly pid: number;
  /** Resolves when the process has ended for any reason. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  /** Stops it gracefully, and kills it when that takes too long. May be called again. */
  stop(): Promise<void>;
}

/** One step of stopping a process: the signal to send (0: none, only wait), and how long to wait afterwards. */
export interface StopStep {
  readonly signal: NodeJS.Signals | 0;
  readonly waitMs: number;
}

/** How a server of others is stopped, unless its own signals say otherwise. */
export const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGTERM', waitMs: 15_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

export const describeExit = ({ code, signal }: ExitStatus): string =>
  signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
