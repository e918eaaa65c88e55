import type { FastifyInstance } from 'fastify';
import type { Operations } from './http/operations.ts';
import type { Recovery } from './recovery/recovery.ts';

/**
 * What one feature contributes to the exchange's processes. Every member is
 * required, so that a feature without recoveries states it, and one that
 * forgets them does not compile. `features.ts` lists all features,
 * `services.ts` makes the services that they use; their activities are listed
 * in `src/activities/exchange/index.ts`.
 *
 * The parameters of a feature declare only what it uses of the platform and of
 * the services; `features.ts` checks that it is available. They are `never`
 * here so that functions with any parameter type are assignable.
 */
export interface Feature {
  /** Called once in each process, gateway or worker. */
  open(deps: never): OpenFeature;
  /** Adds the feature's routes to the gateway. */
  routes(scopes: GatewayScopes, deps: never): void;
}

/** A feature in one process, for as long as the process runs. */
export interface OpenFeature {
  /** Completes committed work that a crash left unfinished. */
  recoveries: readonly Recovery[];
  /** Resolves when the feature's background work has finished. */
  drain(): Promise<void>;
}

/**
 * Adds routes to a Fastify scope of their own, with its own content type
 * parsers and hooks.
 */
export type AddRoutes = (scope: FastifyInstance) => void;

/** The scopes to which a feature can add routes. */
export interface GatewayScopes {
  /**
   * For operations of the contract: authenticated, rate limited, validated and
   * audited.
   */
  operations: Operations;
  /**
   * For routes outside the contract that are authenticated and rate limited:
   * event streams, uploads.
   */
  authenticated(add: AddRoutes): void;
  /** For routes without an API key: signed callbacks, signed links, pages. */
  open(add: AddRoutes): void;
}

/** The dependencies of a function `(target, deps)` that adds routes. */
export type DepsOf<AddRoutes extends (target: never, deps: never) => unknown> =
  Parameters<AddRoutes>[1];

/** For features without routes. */
export const NO_ROUTES = (): void => undefined;
/** For features without recoveries and background work. */
export const NOTHING_OPEN = (): OpenFeature => ({
  recoveries: [],
  drain: async () => undefined,
});
