import type { StackSite } from '../embedded/open-stack.ts';
import type { Environment } from '../embedded/stack-environment.ts';
import type { GatewayProxy } from './proxy/proxy.ts';

/** What rolling needs to know of a running cluster. */
export interface RunningParts {
  readonly site: StackSite;
  readonly proxy: GatewayProxy;
  readonly gateways: readonly { name: string; url: string }[];
  readonly workerEnvironment: Environment;
}
