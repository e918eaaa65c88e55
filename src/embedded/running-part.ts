/** How a process ended: by itself with a code, or by a signal. */
export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A started process of the stack. */
export interface RunningPart {
  readonly pid: number;
  /** Resolves when the process is gone, whoever ended it. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  /** Ends it gracefully, and by force when it takes too long. May be called again. */
  stop(): Promise<void>;
}

/** One step of ending a process: the signal (0 only waits), and how long it may take to work. */
export interface StopStep {
  readonly signal: NodeJS.Signals | 0;
  readonly waitMs: number;
}

export const describeExit = ({ code, signal }: ExitStatus): string =>
  signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
