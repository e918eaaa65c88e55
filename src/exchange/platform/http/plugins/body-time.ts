import { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';

const LIMITS = { totalMs: 30_000, idleMs: 10_000 };
const TIMED_OUT =
  'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

const stops = new WeakMap<FastifyRequest['raw'], () => void>();

/**
 * Cuts off a client that has not sent its whole body after 30 s, or none of it
 * for 10 s, even if the request is answered already. Node's own
 * `requestTimeout` could not be lifted for an upload, so it is off and this
 * replaces it.
 */
export function limitBodyTime(
  app: FastifyInstance,
  { totalMs, idleMs } = LIMITS,
): void {
  app.addHook('onRequest', async ({ headers, raw }, reply) => {
    const hasBody =
      headers['content-length'] !== undefined ||
      headers['transfer-encoding'] !== undefined;
    // A request that a test injects has no socket, and nothing to wait for.
    if (!hasBody || raw.complete || !(raw.socket instanceof Socket)) return;
    const cutOff = () => {
      stop();
      if (raw.complete) return;
      if (reply.raw.headersSent) raw.destroy();
      else raw.socket.end(TIMED_OUT, () => raw.destroy());
    };
    let bytesBefore = raw.socket.bytesRead;
    const total = setTimeout(cutOff, totalMs);
    const idle = setInterval(() => {
      const { bytesRead } = raw.socket;
      // While bytes wait to be read, it is we who are slow.
      if (
        bytesRead === bytesBefore &&
        raw.readableLength === 0 &&
        !raw.readableEnded
      )
        cutOff();
      bytesBefore = bytesRead;
    }, idleMs);
    const stop = () => {
      clearTimeout(total);
      clearInterval(idle);
    };
    stops.set(raw, stop);
    raw.once('close', stop);
  });
}

/** Lifts the limit for a request that has its own time limits. */
export function liftBodyTime({ raw }: FastifyRequest): void {
  stops.get(raw)?.();
}
