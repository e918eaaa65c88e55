import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createKeyCheck } from '../accounts/key-check.ts';
import { QUERY_ORDER } from '../network-query/query-store.ts';
import type { NetworkQueryService } from '../network-query/service.ts';
import { findPatient } from '../patients/patient-store.ts';
import { insertAuditEntry } from '../platform/audit/audit-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { NotFoundError } from '../platform/errors.ts';
import type { GatewayPlatform } from '../platform/http/deps.ts';
import { callerOf } from '../platform/http/plugins/auth.ts';
import { leaveRequestShare } from '../platform/http/plugins/request-share.ts';
import { Places } from '../platform/limits/places.ts';
import type { RecordKeeper } from '../records/record-keeper.ts';
import { createEmbedTokenCheck } from './embed-token-check.ts';
import { queryProgress } from './query-progress.ts';
import { summaryLines } from './summary-lines.ts';
import { watchQueries } from './watch-queries.ts';

type DataDeps = Pick<GatewayPlatform, 'store' | 'internalTokenKey'> & {
  records: RecordKeeper;
  networkQueries: NetworkQueryService;
};

const QUERIES_SHOWN = 10;
const NEWEST_FIRST = { sort: QUERY_ORDER.default, count: QUERIES_SHOWN };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Routes that only the embedded page uses, in addition to operations of the interface: the summary of a record, and the
 * progress of queries as an event stream. They are not public and may change with the page.
 */
export function addEmbedDataRoutes(app: FastifyInstance, deps: DataDeps): void {
  const places = new Places();
  app.addHook('preClose', async () => places.close());
  const keys = createKeyCheck(deps.store);
  const tokens = createEmbedTokenCheck({ ...deps, keys });

  app.get(
    '/embed/:account/patient/:id/summary',
    { exposeHeadRoute: false, schema: { hide: true }, config: { operation: 'getEmbedSummary' } },
    async (request, reply) => {
      const { accountId, patientId } = await openPatient(deps, request, 'getEmbedSummary');
      await deps.records.merge(accountId, patientId);
      closeStalledConnection(reply);
      return reply
        .type('application/x-ndjson; charset=utf-8')
        .header('cache-control', 'no-store')
        .send(Readable.from(summaryLines(deps.store, { accountId, patientId })));
    },
  );

  app.get(
    '/embed/:account/patient/:id/events',
    { exposeHeadRoute: false, schema: { hide: true }, config: { operation: 'watchEmbedQueries' } },
    async (request, reply) => {
      const { accountId, patientId } = await openPatient(deps, request, 'watchEmbedQueries');
      const { actor, keyId, embedToken } = callerOf(request);
      const place = places.take(accountId, actor);
      leaveRequestShare(request);
      reply.raw.once('close', place.leave);
      // The client had already disconnected, so no further `close` event will come.
      if (reply.raw.destroyed) place.leave();
      closeStalledConnection(reply);
      const events = watchQueries({
        read: () =>
          deps.store.asAccount(accountId, async (tx) => {
            if ((await findPatient(tx, patientId)) === undefined) return undefined;
            const page = await deps.networkQueries.listQueries(tx, { patientId }, NEWEST_FIRST);
            return { queries: page.items.map(queryProgress), total: page.total };
          }),
        isGood: async () =>
          embedToken === undefined
            ? keyId === undefined || (await keys.byId(keyId)) !== undefined
            : tokens.isGood(embedToken),
        expiresAt: embedToken?.expiresAt,
        signal: place.signal,
      });
      return reply
        .type('text/event-stream; charset=utf-8')
        .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
        .send(Readable.from(events));
    },
  );
}

/** A connection without traffic for this long is closed; the event stream sends something more often than that. */
const STALLED_MS = 60_000;

/** Streams wait for a slow reader; without this timeout one that stopped reading would hold its resources forever. */
function closeStalledConnection(reply: FastifyReply): void {
  reply.raw.setTimeout(STALLED_MS, () => void reply.raw.destroy());
}

/**
 * Finds the patient in the URL and audits the access.
 *
 * @throws NotFoundError when the URL names another account, or the patient does not exist
 */
async function openPatient(
  { store }: DataDeps,
  request: FastifyRequest,
  operation: string,
): Promise<{ accountId: string; patientId: string }> {
  const { account, id } = request.params as { account: string; id: string };
  const { account: own, actor } = callerOf(request);
  if (account.toLowerCase() !== own.id || !UUID.test(id)) throw new NotFoundError('Patient');
  const patientId = await store.asAccount(own.id, async (tx: AccountTx) => {
    const patient = await findPatient(tx, id);
    if (patient === undefined) throw new NotFoundError('Patient');
    const record = { actor, operation, patientId: patient.id, outcome: '200', remoteAddress: request.ip };
    await insertAuditEntry(tx, record);
    return patient.id;
  });
  return { accountId: own.id, patientId };
}
