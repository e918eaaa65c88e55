import type { Capabilities } from './capabilities.ts';
import type { SourceHttp } from './http/source-http.ts';
import type { ResolvedSourceConfig } from './source-config.ts';

/** The parts that all functions of one connector share. */
export interface SourceContext {
  config: ResolvedSourceConfig;
  http: SourceHttp;
  capabilities: Capabilities;
  now: () => number;
}
