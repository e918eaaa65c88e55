import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

/**
 * Serves probes for a process without an HTTP interface: `/health` (the process
 * is alive), `/ready` (503 while it does not accept work) and `/metrics`.
 */
export async function startProbeServer(options: {
  host: string;
  port: number;
  metrics: Registry;
  isReady: () => boolean;
}) {
  const { host, port, metrics, isReady } = options;
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET')
      return answer(response, 405, 'only GET is allowed\n');
    if (path === '/health') return answer(response, 200, 'ok\n');
    if (path === '/ready')
      return isReady()
        ? answer(response, 200, 'ready\n')
        : answer(response, 503, 'not ready\n');
    if (path === '/metrics')
      return void metrics.metrics().then(
        (text) => answer(response, 200, text, metrics.contentType),
        () => answer(response, 500, 'metrics could not be collected\n'),
      );
    answer(response, 404, 'not found: use /health, /ready or /metrics\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    /** http://host:port, with the actual port. */
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = 'text/plain',
): void {
  response.writeHead(status, { 'content-type': contentType }).end(text);
}
