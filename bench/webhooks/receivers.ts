import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A process of the benchmark: receivers of webhooks. The parent sends how many;
 * this process reports their addresses. A request to `/dead` is never answered.
 */
process.on('message', async (count: number) => {
  const urls: string[] = [];
  for (let index = 0; index < count; index++) {
    const server = createServer((request, response) => {
      request.resume();
      if (request.url !== '/dead') request.on('end', () => response.end());
    });
    await new Promise<void>((resolve) =>
      server.listen(0, '127.0.0.1', resolve),
    );
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
  process.send?.(urls);
});
process.on('disconnect', () => process.exit(0));
