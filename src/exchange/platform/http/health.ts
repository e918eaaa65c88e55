import type { FastifyInstance } from 'fastify';
import type { GatewayPlatform } from './deps.ts';

const PROBE_TIMEOUT_MS = 2_000;

/**
 * `/health`: the process serves. `/ready`: it can take work, which needs the database only; with Temporal away
 * accepted work is started later. Both parts are told apart in the body.
 */
export function addHealthRoutes(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'pingTemporal'>,
): void {
  app.get('/health', { schema: { hide: true }, config: { operation: 'health' } }, () => ({ status: 'ok' }));
  app.get('/ready', { schema: { hide: true }, config: { operation: 'ready' } }, async (_request, reply) => {
    const [database, temporal] = await Promise.all([
      answers(deps.store.ping()),
      answers(deps.pingTemporal()),
    ]);
    return reply.code(database ? 200 : 503).send({
      status: database ? 'ready' : 'not ready',
      database: database ? 'up' : 'down',
      temporal: temporal ? 'up' : 'down',
    });
  });
}

async function answers(probe: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PROBE_TIMEOUT_MS);
  });
  const answered = probe.then(
    () => true,
    () => false,
  );
  return Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
