import { type FastifyInstance, fastify } from 'fastify';
import { prepareDraining, SERVES_WHILE_CLOSING } from '../../lib/draining.ts';
import { traceRequests } from '../../lib/tracing/trace-requests.ts';
import { registerConfirmation } from './confirmation-route.ts';
import { registerIntake } from './intake-route.ts';
import { sendProblem } from './problem.ts';
import type { ReceiverDeps } from './receiver-deps.ts';
import { registerReturn } from './return-route.ts';
import { registerWebhooks } from './webhooks-route.ts';

const BODY_SIZE_MAX_BYTES = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 15_000;

/**
 * Receives `POST /webhooks` from the exchange, `POST /intake` and `/intake/confirmation` from an EHR or form, and
 * `GET /return/…` from browsers; also serves `GET /health` and `/ready`. Bodies stay raw, because signatures cover bytes.
 */
export function createReceiver(deps: ReceiverDeps): FastifyInstance {
  const app = fastify({
    ...SERVES_WHILE_CLOSING,
    bodyLimit: BODY_SIZE_MAX_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
  });
  traceRequests(app);
  prepareDraining(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  registerWebhooks(app, deps);
  registerIntake(app, deps);
  registerConfirmation(app, deps);
  registerReturn(app, deps);
  app.get('/health', async () => ({ status: 'ok' }));
  app.get('/ready', async (_request, reply) => {
    if (await deps.onboardings.isReachable()) return { status: 'ready' };
    return sendProblem(reply, 503, 'Service unavailable', 'Temporal cannot be reached');
  });

  app.setNotFoundHandler((_request, reply) =>
    sendProblem(
      reply,
      404,
      'Not found',
      'This server has POST /webhooks, POST /intake, GET /health and GET /ready',
    ),
  );
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    if (error.statusCode === 413)
      return sendProblem(
        reply,
        413,
        'Payload too large',
        `The body may have at most ${BODY_SIZE_MAX_BYTES} bytes`,
      );
    if (error.statusCode !== undefined && error.statusCode < 500)
      return sendProblem(reply, 400, 'Bad request', 'The request is not valid HTTP');
    deps.logger.error({ err: error }, 'receiver failed');
    return sendProblem(reply, 500, 'Internal server error', 'The request failed on our side; send it again');
  });
  return app;
}
