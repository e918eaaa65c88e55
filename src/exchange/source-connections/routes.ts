import type { FastifyInstance } from 'fastify';
import type { Store } from '../platform/database/database.ts';
import { readJwks } from './signing-keys.ts';

/** Servers may cache the keys; this is far shorter than the overlap of a rotation. */
const MAX_AGE_SECONDS = 300;

/** Adds the public address of our JWKS, with which authorization servers of sources verify our assertions. */
export function addJwksRoute(app: FastifyInstance, { store }: { store: Store }): void {
  app.get(
    '/.well-known/jwks.json',
    { schema: { hide: true }, config: { operation: 'readJwks' } },
    async (_request, reply) => {
      const jwks = await store.asSystem(readJwks);
      return reply
        .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
        .type('application/json')
        .send(JSON.stringify(jwks));
    },
  );
}
