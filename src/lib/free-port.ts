import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range of ephemeral ports, so that no outgoing connection takes our
 * port before we listen on it.
 */
const LOWEST = 20_000;
const HIGHEST = 31_999;
const TRIES = 50;

/**
 * Finds a free TCP port on the loopback address; returns `preferred` if it is
 * free. Throws when none is found.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && preferred > 0 && (await isPortFree(preferred)))
    return preferred;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (await isPortFree(port)) return port;
  }
  throw new Error(
    `Found no free TCP port between ${LOWEST} and ${HIGHEST} on 127.0.0.1.`,
  );
}

/** Whether a server could listen on this port of 127.0.0.1 now. */
export const isPortFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () =>
      probe.close(() => resolve(true)),
    );
  });
