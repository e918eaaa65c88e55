import type { FastifyInstance } from 'fastify';
import { refuseUnsigned } from '../../platform/http/signed-callback.ts';
import type { SourceCallbacks } from './source-callback.ts';

/** A callback is only a hint; a larger body is refused. */
const BODY_BYTES_MAX = 64 * 1024;

/**
 * Adds the route on which sources report that an answer is ready. It needs no API key: the token cannot be guessed,
 * and the source signs the body. The body stays raw bytes, because the signature covers them.
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
