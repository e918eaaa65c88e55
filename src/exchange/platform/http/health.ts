import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { SystemTx } from '../database/database.ts';
import type { GatewayPlatform } from './deps.ts';

const PROBE_TIMEOUT_MS = 2_000;

/**
 * `/health`: the process is running. `/ready`: it can accept requests, which
 * requires only the database; while Temporal or a source is unavailable,
 * accepted work waits. A gateway that is about to end is not ready, so that
 * proxies use the others. The body reports all of them, as far as everyone may
 * know: no connections of accounts, and no reasons, which name servers and
 * operators.
 */
export function addHealthRoutes(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'pingTemporal'>,
  /** Reads the state of the sources, to be shown to everyone. */
  readSources: (tx: SystemTx) => Promise<object[]>,
): void {
  app.get(
    '/health',
    { schema: { hide: true }, config: { operation: 'health' } },
    () => ({ status: 'ok' }),
  );
  app.get(
    '/ready',
    { schema: { hide: true }, config: { operation: 'ready' } },
    async (_request, reply) => {
      const sources = deps.store.asSystem(readSources).catch(() => undefined);
      const [database, temporal, isReported] = await Promise.all([
        responds(deps.store.ping()),
        responds(deps.pingTemporal()),
        responds(sources),
      ]);
      const isDraining = app.draining.hasBegun;
      return reply.code(database && !isDraining ? 200 : 503).send({
        status: isDraining ? 'draining' : database ? 'ready' : 'not ready',
        database: database ? 'up' : 'down',
        temporal: temporal ? 'up' : 'down',
        sources: isReported ? await sources : undefined,
      });
    },
  );
}

/** Whether the probe resolves within PROBE_TIMEOUT_MS. */
const responds = (probe: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    probe.then(
      () => true,
      () => false,
    ),
    delay(PROBE_TIMEOUT_MS, false, { ref: false }),
  ]);
