import type { FastifyInstance, FastifyRequest } from 'fastify';

const BODY_TIME_MS = 30_000;
const TIMED_OUT = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

const timers = new WeakMap<FastifyRequest['raw'], NodeJS.Timeout>();

/**
 * Cuts a client off that has not sent its whole body after 30 s, also one that has its answer already. The server's own
 * `requestTimeout` would do the same, and could not be lifted for an upload that is going on; so it is off, and this
 * stands in.
 */
export function limitBodyTime(app: FastifyInstance, timeoutMs = BODY_TIME_MS): void {
  app.addHook('onRequest', async ({ headers, raw }, reply) => {
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    if (!hasBody || raw.complete) return;
    const timer = setTimeout(() => {
      if (raw.complete) return;
      if (reply.raw.headersSent) raw.destroy();
      else raw.socket.end(TIMED_OUT, () => raw.destroy());
    }, timeoutMs);
    timers.set(raw, timer);
    raw.once('close', () => clearTimeout(timer));
  });
}

/** For a request that sets limits of its own from here on. */
export function liftBodyTime({ raw }: FastifyRequest): void {
  clearTimeout(timers.get(raw));
}
