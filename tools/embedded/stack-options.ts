import type { Environment, SourcePrefix } from './stack-environment.ts';
import type { PortName } from './stack-ports.ts';
import type { StartListener } from './start-progress.ts';

/** Our programs. Two processes run the worker, see `ProcessName`. */
export type ProgramName = 'simulator' | 'gateway' | 'receiver' | 'worker';
export type ProcessName = ProgramName | 'worker-background';

export interface StackOptions {
  /** Folder of the stack's whole state; created if needed. */
  dataDir: string;
  /**
   * Receives one line for each event (a part died, is running again); default:
   * only the stack's log file.
   */
  log?: (line: string) => void;
  /** Receives which parts are being started, and when they are ready. */
  onStart?: StartListener;
  /** Log level of our processes. */
  logLevel?: string;
  /**
   * Required ports; 0 or absent: the port of the last run on this folder, else
   * a free one.
   */
  ports?: Partial<Record<PortName, number>>;
  /** External services that replace parts of the stack. */
  outside?: {
    databaseUrl?: string | undefined;
    temporal?: {
      /** host:port */
      address: string;
      namespace: string;
      uiUrl?: string | undefined;
      /**
       * Further variables of the connection: TEMPORAL_API_KEY and certificates.
       */
      environment?: Environment;
    };
    sources?: Partial<Record<SourcePrefix, Environment>>;
  };
  /**
   * Environment variables of single programs; they override the stack's own.
   * With WORKER_QUEUES for the worker, one process serves these queues, and
   * there is no second one for background work.
   */
  environment?: Partial<Record<ProgramName, Environment>>;
  /** Node.js arguments of single programs, such as a heap limit. */
  nodeArgs?: Partial<Record<ProgramName, readonly string[]>>;
  /** Aborts the start, or stops the running stack. */
  signal?: AbortSignal;
}
