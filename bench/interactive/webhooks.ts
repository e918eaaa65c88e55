import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Webhooks = Awaited<ReturnType<typeof listenForWebhooks>>;

/** A receiver that notes when the first webhook of each request arrived. */
export async function listenForWebhooks() {
  const arrivedAt = new Map<string, number>();
  const waiting = new Map<string, (at: number) => void>();
  const server = createServer((request, response) => {
    const at = performance.now();
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      response.end();
      const { meta } = JSON.parse(Buffer.concat(parts).toString('utf8')) as {
        meta?: { requestId?: string };
      };
      const requestId = meta?.requestId;
      if (requestId === undefined || arrivedAt.has(requestId)) return;
      arrivedAt.set(requestId, at);
      waiting.get(requestId)?.(at);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    /** When the request's first webhook arrived; waits for it. */
    arrivalOf: (requestId: string): Promise<number> =>
      new Promise((resolve) => {
        const at = arrivedAt.get(requestId);
        if (at === undefined) waiting.set(requestId, resolve);
        else resolve(at);
      }),
    close: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
