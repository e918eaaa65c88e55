import type { FastifyInstance } from 'fastify';
import { refuseUnsigned } from '../sources/callback.ts';
import type { SourceCallbacks } from './source-callback.ts';

/** A callback is a hint; more than this is not read. */
const BODY_BYTES_MAX = 64 * 1024;

/**
 * Where sources announce that an answer is ready. No API key: the token is unguessable, and the source signs its
 * body, which therefore is kept as it came.
 */
export function addSourceCallbackRoute(
  app: FastifyInstance,
  deps: { sourceCallbacks: SourceCallbacks },
): void {
  refuseUnsigned(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX }, (_request, body, done) =>
    done(null, body),
  );
  app.post<{ Params: { token: string } }>(
    '/sources/callback/:token',
    { schema: { hide: true }, config: { operation: 'sourceCallback' } },
    async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const { status } = await deps.sourceCallbacks.handle(request.params.token, request.headers, body);
      return reply.code(status).send();
    },
  );
}
