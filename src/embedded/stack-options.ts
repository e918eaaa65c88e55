import type { Environment, SourcePrefix } from './stack-environment.ts';
import type { PortName } from './stack-ports.ts';

export type ProcessName = 'simulator' | 'gateway' | 'receiver' | 'worker';

export interface StackOptions {
  /** Folder of everything the stack keeps; made when it is not there. */
  dataDir: string;
  /** Takes one line a happening (a part died, came back); default: nowhere but the stack's log file. */
  log?: (line: string) => void;
  /** Log level of our processes. */
  logLevel?: string;
  /** Wanted ports; 0 and absent: those of the last run on this folder, else free ones. */
  ports?: Partial<Record<PortName, number>>;
  /** What is used instead of a part of the stack's own. */
  outside?: {
    databaseUrl?: string | undefined;
    temporal?: {
      /** host:port */
      address: string;
      namespace: string;
      uiUrl?: string | undefined;
      /** Further variables of the connection: TEMPORAL_API_KEY, TEMPORAL_TLS. */
      environment?: Environment;
    };
    sources?: Partial<Record<SourcePrefix, Environment>>;
  };
  /** Variables of single processes, over the stack's own. */
  environment?: Partial<Record<ProcessName, Environment>>;
  /** Arguments for the Node.js of single processes, such as a heap limit. */
  nodeArgs?: Partial<Record<ProcessName, readonly string[]>>;
  /** Gives up the start, or stops the running stack. */
  signal?: AbortSignal;
}
