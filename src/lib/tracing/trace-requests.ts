import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isTracing, type Span, startSpan, withSpan } from './spans.ts';

/** Routes that load balancers and scrapers call every few seconds. */
const QUIET: ReadonlySet<string> = new Set(['/health', '/ready', '/metrics']);

/**
 * A span for each request, in the trace that its `traceparent` names. Only the
 * pattern of the route is recorded, because paths contain ids of patients, and
 * queries anything. The caller's `tracestate` and `baggage` are not passed on:
 * they would reach sources and receivers of webhooks.
 */
export function traceRequests(app: FastifyInstance): void {
  if (!isTracing()) return;
  const spans = new WeakMap<FastifyRequest, Span>();

  app.addHook('onRequest', (request, _reply, done) => {
    const route = request.routeOptions.url;
    if (route !== undefined && QUIET.has(route)) return done();
    const span = startSpan({
      name: route === undefined ? request.method : `${request.method} ${route}`,
      kind: 'server',
      parent: traceparentOf(request) ?? 'none',
      attributes: {
        'http.request.method': request.method,
        'http.route': route,
        'exchange.http.request.id': request.id,
      },
    });
    if (span === undefined) return done();
    spans.set(request, span);
    withSpan(span, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request);
    span?.set({ 'http.response.status_code': reply.statusCode });
    span?.end();
    done();
  });
}

function traceparentOf({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
}
