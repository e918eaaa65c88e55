import type { Capabilities } from './capabilities.ts';
import type { SourceHttp } from './http/source-http.ts';
import type { ResolvedSourceConfig } from './source-config.ts';

/** What every part of one connector works with. */
export interface SourceContext {
  config: ResolvedSourceConfig;
  http: SourceHttp;
  capabilities: Capabilities;
  now: () => number;
}
