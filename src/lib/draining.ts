import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /** How this server ends without failing a request (see prepareDraining). */
    readonly draining: Draining;
  }
}

interface Draining {
  /**
   * Whether the server is about to end. It still answers every request that
   * reaches it.
   */
  hasBegun: boolean;
  /** Requests whose response has not been handed over completely. */
  inProgress: number;
}

/**
 * For Fastify: a request on a connection that is still open while the server
 * closes is served, not refused.
 */
export const SERVES_WHILE_CLOSING = { return503OnClosing: false } as const;

const POLL_MS = 20;
/**
 * With the longest wait before it, shorter than the time in which runProcess
 * must have stopped.
 */
const FINISH_TIMEOUT_MS = 12_000;

/**
 * Prepares a server for `drainServer`: once draining has begun, each response closes
 * its connection, so that the client or proxy opens the next one elsewhere.
 */
export function prepareDraining(app: FastifyInstance): void {
  const draining: Draining = { hasBegun: false, inProgress: 0 };
  app.decorate('draining', draining);
  app.addHook('onSend', async (_request, reply) => {
    if (draining.hasBegun) reply.header('connection', 'close');
  });
  app.server.on(
    'request',
    ({ socket }: IncomingMessage, response: ServerResponse) => {
      draining.inProgress += 1;
      response.once('close', () => {
        draining.inProgress -= 1;
        // The headers of a long response may have kept the connection alive.
        if (draining.hasBegun) socket.destroySoon();
      });
    },
  );
}

/**
 * Ends a server: for `seconds` it is not ready but takes requests, so that
 * every proxy has time to notice. Then it waits for the requests in progress,
 * because Node.js cuts responses that a slow client has not read yet when a
 * server closes. At last it closes, together with all connections that are
 * still open.
 */
export async function drainServer(
  app: FastifyInstance,
  seconds: number,
): Promise<void> {
  const { draining } = app;
  draining.hasBegun = true;
  await sleep(seconds * 1_000);
  const endsAt = Date.now() + FINISH_TIMEOUT_MS;
  while (draining.inProgress > 0 && Date.now() < endsAt) await sleep(POLL_MS);
  const closed = app.close();
  app.server.closeAllConnections();
  await closed;
}
