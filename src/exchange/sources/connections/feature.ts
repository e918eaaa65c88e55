import type { FastifyInstance } from 'fastify';
import type { JWK } from 'jose';
import type { Store } from '../../platform/database/database.ts';
import {
  type DepsOf,
  type Feature,
  type GatewayScopes,
  NOTHING_OPEN,
} from '../../platform/feature.ts';
import { readJwks } from './signing-keys.ts';

/** Connections to sources: their keys, tokens and settings. */
export const sourceConnectionsFeature = {
  open: NOTHING_OPEN,
  routes: ({ open }: GatewayScopes, deps: DepsOf<typeof addJwksRoute>) =>
    open((scope) => addJwksRoute(scope, deps)),
} satisfies Feature;

/**
 * Servers may cache the keys; this is far shorter than the overlap of a
 * rotation.
 */
const MAX_AGE_SECONDS = 300;
/**
 * Anybody may read the keys, so reading them costs the database one statement
 * in this time.
 */
const KEPT_MS = 10_000;

/**
 * Adds the public address of our JWKS, with which authorization servers of
 * sources verify our assertions.
 */
export function addJwksRoute(
  app: FastifyInstance,
  { store }: { store: Pick<Store, 'asSystem'> },
): void {
  let known: { at: number; jwks: Promise<{ keys: JWK[] }> } | undefined;

  function currentJwks(): Promise<{ keys: JWK[] }> {
    if (known === undefined || Date.now() - known.at > KEPT_MS) {
      const jwks = store.asSystem(readJwks);
      known = { at: Date.now(), jwks };
      jwks.catch(() => {
        known = undefined;
      });
    }
    return known.jwks;
  }

  app.get(
    '/.well-known/jwks.json',
    { schema: { hide: true }, config: { operation: 'readJwks' } },
    async (_request, reply) =>
      reply
        .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
        .type('application/json')
        .send(JSON.stringify(await currentJwks())),
  );
}
