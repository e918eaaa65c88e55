import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route sets its own limits on how long its body may take. */
    ownBodyTime?: true;
  }
}

const BODY_TIME_MS = 30_000;
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

/**
 * Cuts a client off that has not sent its whole body after 30 s. The server's own `requestTimeout` would do the same
 * to every route, and cannot be lifted for an upload that is going on; so it is off, and this stands in.
 */
export function limitBodyTime(app: FastifyInstance, timeoutMs = BODY_TIME_MS): void {
  app.addHook('onRequest', async (request) => {
    const { headers, raw } = request;
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    if (!hasBody || raw.complete || request.routeOptions.config.ownBodyTime === true) return;
    const timer = setTimeout(() => {
      if (!raw.complete) raw.socket.end(TIMED_OUT, () => raw.destroy());
    }, timeoutMs);
    raw.once('close', () => clearTimeout(timer));
  });
}
