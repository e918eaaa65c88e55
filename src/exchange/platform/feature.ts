import type { FastifyInstance } from 'fastify';
import type { WorkerQueue } from '../../temporal/worker-queues.ts';
import type { Operations } from './http/operations.ts';
import type { Platform } from './platform.ts';
import type { Recovery } from './recovery/recovery.ts';

/**
 * What one feature adds to the exchange's processes. Every member is required: a feature that has no activities, or nothing
 * to recover, says so, and a feature that forgets one does not compile. `features.ts` lists them all.
 *
 * Each feature names in its parameters only what it uses of the platform and of other features; the list checks that this
 * is there. Hence `never` here: any narrower parameter fits.
 */
export interface Feature {
  /** Once in each process, gateway or worker. */
  open(platform: Platform, services: never): OpenFeature;
  /** At the gateway. */
  routes(scopes: GatewayScopes, deps: never): void;
  /** At the workers, by task queue. */
  activities(deps: never): Partial<Record<WorkerQueue, object>>;
}

/** A feature in one process, for as long as the process runs. */
export interface OpenFeature<Services extends object = object> {
  /** What routes, activities and other features may use of it, by name. */
  services: Services;
  /** Committed work that a crash may leave unfinished. */
  recoveries: readonly Recovery[];
  /** Resolves when nothing of this feature runs in the background any more. */
  drain(): Promise<void>;
}

/** Adds routes to a scope of its own, which may have content type parsers and hooks of its own. */
export type AddRoutes = (scope: FastifyInstance) => void;

/** Where a feature's routes may stand. */
export interface GatewayScopes {
  /** Operations of the contract: authenticated, limited, validated, audited. */
  operations: Operations;
  /** Authenticated and limited, but not an operation of the contract: event streams, uploads. */
  authenticated(add: AddRoutes): void;
  /** Without an API key: signed callbacks, signed links, pages. */
  open(add: AddRoutes): void;
}

/** What a function `(target, deps)` that adds routes needs. */
export type DepsOf<AddRoutes extends (target: never, deps: never) => unknown> = Parameters<AddRoutes>[1];

export const NO_ACTIVITIES = (): Record<never, never> => ({});
export const NO_ROUTES = (): void => undefined;
/** Of a feature without state: nothing to share, recover or wait for. */
export const NOTHING_OPEN = (): OpenFeature<Record<never, never>> => ({
  services: {},
  recoveries: [],
  drain: async () => undefined,
});
