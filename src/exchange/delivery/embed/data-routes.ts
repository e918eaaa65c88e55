import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type SummaryPart, summarise } from '#record-summary';
import type { SourceError } from '../../../contract/network-query.ts';
import { CANCEL_REASONS } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { createKeyCheck } from '../../access/accounts/key-check.ts';
import { createEmbedTokenCheck } from '../../access/embed-tokens/embed-token.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { NotFoundError, orNotFound } from '../../platform/errors.ts';
import { callerOf } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { leaveRequestShare } from '../../platform/http/plugins/request-share.ts';
import { Permits } from '../../platform/limits/permits.ts';
import {
  QUERY_ORDER,
  type StoredAttemptView,
  type StoredQueryView,
} from '../../queries/network-query/query-store.ts';
import { lastAttempts } from '../../queries/network-query/rules/query-status.ts';
import type { NetworkQueryService } from '../../queries/network-query/service.ts';
import type { ConsolidatedFilter } from '../../records/reading/read-consolidated.ts';
import { openRecordReader } from '../../records/reading/record-reader.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';

type DataDeps = Pick<GatewayPlatform, 'store' | 'internalTokenKey'> & {
  records: RecordKeeper;
  networkQueries: NetworkQueryService;
};

const QUERIES_SHOWN = 10;
const NEWEST_FIRST = { sort: QUERY_ORDER.default, count: QUERIES_SHOWN };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Routes that only the embedded page uses, in addition to operations of the
 * interface: the summary of a record, and the progress of queries as an event
 * stream. They are not public and may change with the page.
 */
export function addEmbedDataRoutes(app: FastifyInstance, deps: DataDeps): void {
  const permits = new Permits();
  app.addHook('preClose', async () => permits.close());
  const keys = createKeyCheck(deps.store);
  const tokens = createEmbedTokenCheck({ ...deps, keys });
  const summaryLines = createSummaryLines(deps.store);

  app.get(
    '/embed/:account/patient/:id/summary',
    {
      exposeHeadRoute: false,
      schema: { hide: true },
      config: { operation: 'getEmbedSummary' },
    },
    async (request, reply) => {
      const { accountId, patientId } = await openPatient(
        deps,
        request,
        'getEmbedSummary',
      );
      await deps.records.merge(accountId, patientId);
      closeStalledConnection(reply);
      return reply
        .type('application/x-ndjson; charset=utf-8')
        .header('cache-control', 'no-store')
        .send(Readable.from(summaryLines({ accountId, patientId })));
    },
  );

  app.get(
    '/embed/:account/patient/:id/events',
    {
      exposeHeadRoute: false,
      schema: { hide: true },
      config: { operation: 'watchEmbedQueries' },
    },
    async (request, reply) => {
      const { accountId, patientId } = await openPatient(
        deps,
        request,
        'watchEmbedQueries',
      );
      const { actor, keyId, embedToken } = callerOf(request);
      const permit = permits.take(accountId, actor);
      leaveRequestShare(request);
      reply.raw.once('close', permit.leave);
      // The client had already disconnected, so no further `close` event will
      // come.
      if (reply.raw.destroyed) permit.leave();
      closeStalledConnection(reply);
      const events = watchQueries({
        read: () =>
          deps.store.asAccount(accountId, async (tx) => {
            if ((await findPatient(tx, patientId)) === undefined)
              return undefined;
            const page = await deps.networkQueries.listQueries(
              tx,
              { patientId },
              NEWEST_FIRST,
            );
            return {
              queries: page.items.map(queryProgress),
              total: page.total,
            };
          }),
        isGood: async () =>
          embedToken === undefined
            ? keyId === undefined || (await keys.byId(keyId)) !== undefined
            : tokens.isGood(embedToken),
        expiresAt: embedToken?.expiresAt,
        signal: permit.signal,
      });
      return reply
        .type('text/event-stream; charset=utf-8')
        .headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
        .send(Readable.from(events));
    },
  );
}

/**
 * A connection without traffic for this long is closed; the event stream sends
 * something more often than that.
 */
const STALLED_MS = 60_000;

/**
 * Streams wait for a slow reader; without this timeout one that stopped reading
 * would hold its resources forever.
 */
function closeStalledConnection(reply: FastifyReply): void {
  reply.raw.setTimeout(STALLED_MS, () => void reply.raw.destroy());
}

/**
 * Finds the patient in the URL and audits the access.
 *
 * @throws NotFoundError when the URL names another account, or the patient does
 *   not exist
 */
async function openPatient(
  { store }: DataDeps,
  request: FastifyRequest,
  operation: string,
): Promise<{ accountId: string; patientId: string }> {
  const { account, id } = request.params as { account: string; id: string };
  const { account: own, actor } = callerOf(request);
  if (account.toLowerCase() !== own.id || !UUID.test(id))
    throw new NotFoundError('Patient');
  const patientId = await store.asAccount(own.id, async (tx: AccountTx) => {
    const patient = orNotFound('Patient', await findPatient(tx, id));
    const record = {
      actor,
      operation,
      patientId: patient.id,
      outcome: '200',
      remoteAddress: request.ip,
    };
    await insertAuditEntry(tx, record);
    return patient.id;
  });
  return { accountId: own.id, patientId };
}

/** Types that every record has, even without collected data. */
const NOT_COUNTED = new Set(['Patient', 'Provenance']);

/**
 * The parts of a record's summary as JSON lines, which the page renders itself.
 * The first line is `{kind: 'total', resources}`; with 0 resources only the
 * head follows. Exported for its test.
 */
export function createSummaryLines(
  store: Pick<Store, 'asAccount'>,
  keptMax?: number,
) {
  const read = createSummaryReads(store, keptMax);
  return async function* (patient: {
    accountId: string;
    patientId: string;
  }): AsyncGenerator<string> {
    for await (const part of read(patient)) yield `${JSON.stringify(part)}\n`;
  };
}

/**
 * What the summaries under way may keep of their records together, as bytes of
 * text; the others read theirs page by page.
 */
const KEPT_BYTES_MAX = 64_000_000;

/**
 * The same parts as objects, of all types or of some. Merge the record before.
 */
export function createSummaryReads(
  store: Pick<Store, 'asAccount'>,
  keptMax = KEPT_BYTES_MAX,
) {
  const kept = { left: keptMax };
  return async function* (
    patient: { accountId: string; patientId: string },
    filter: ConsolidatedFilter = {},
  ): AsyncGenerator<SummaryPart | { kind: 'total'; resources: number }> {
    const reader = await openRecordReader(store, { ...patient, filter }, kept);
    try {
      const resources = Object.entries(reader.counts)
        .filter(([type]) => !NOT_COUNTED.has(type))
        .reduce((sum, [, count]) => sum + count, 0);
      yield { kind: 'total', resources };
      for await (const part of summarise(reader, {
        filter,
        madeAt: new Date(),
      })) {
        yield part;
        // The head alone, which says whether the person has died.
        if (resources === 0) return;
      }
    } finally {
      reader.close();
    }
  };
}

/**
 * Why a stream ended: the token expired or was revoked, the patient no longer
 * exists, or the client must reconnect.
 */
type WatchEnd = 'expired' | 'revoked' | 'gone' | 'renew';

export interface WatchOptions {
  /**
   * Reads the latest queries, newest first, and the number of all, older ones
   * included; undefined when the patient no longer exists.
   */
  read(): Promise<{ queries: ShownQuery[]; total: number } | undefined>;
  /** Whether the caller's credentials are still valid. */
  isGood(): Promise<boolean>;
  /** Expiry of the token; undefined for an API key. */
  expiresAt?: Date;
  /** Aborted when the client disconnects or the gateway closes. */
  signal: AbortSignal;
  /** Polling intervals while a query runs, and while none does. */
  pollMs?: { running: number; idle: number };
  lifetimeMs?: number;
}

const POLL_MS = { running: 1_000, idle: 4_000 };
/**
 * A stream ends after this time, which frees abandoned ones; a live client
 * reconnects.
 */
const LIFETIME_MS = 15 * 60_000;
/**
 * Sends a comment after this much silence, so that proxies do not close the
 * connection.
 */
const SILENCE_MS = 15_000;

/**
 * Streams the queries of a patient as server-sent events: `session` (seconds to
 * expiry), `queries` (the full state, whenever it has changed), and `end` (the
 * reason). It polls PostgreSQL, so any gateway can serve it and nothing is lost
 * when a gateway restarts.
 */
export async function* watchQueries(
  options: WatchOptions,
): AsyncGenerator<string> {
  const {
    signal,
    expiresAt,
    pollMs = POLL_MS,
    lifetimeMs = LIFETIME_MS,
  } = options;
  const endsAt = Date.now() + lifetimeMs;
  yield sse('session', {
    expiresInSeconds: expiresAt && Math.max(0, secondsUntil(expiresAt)),
  });
  let shown = '';
  let sentAt = Date.now();
  while (!signal.aborted) {
    if (expiresAt !== undefined && expiresAt.getTime() <= Date.now())
      return yield end('expired');
    if (!(await options.isGood())) return yield end('revoked');
    const read = await options.read();
    if (read === undefined) return yield end('gone');
    const next = sse('queries', read);
    if (next !== shown || Date.now() - sentAt > SILENCE_MS) {
      yield next === shown ? ': still here\n\n' : next;
      shown = next;
      sentAt = Date.now();
    }
    if (Date.now() >= endsAt) return yield end('renew');
    const isRunning = read.queries.some(({ status }) => status === 'running');
    const untilEnd =
      Math.min(endsAt, expiresAt?.getTime() ?? endsAt) - Date.now();
    const waitMs = Math.max(
      0,
      Math.min(isRunning ? pollMs.running : pollMs.idle, untilEnd),
    );
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

const sse = (event: string, data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const end = (reason: WatchEnd): string => sse('end', { reason });
const secondsUntil = (time: Date): number =>
  Math.floor((time.getTime() - Date.now()) / 1000);

/** One source of a query, as the embedded page shows it. */
export interface ShownSource {
  source: SourceType;
  /**
   * `waiting`: an attempt failed and another one is due. `cancelled`: it was
   * cancelled on request.
   */
  status: 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
  attempt: number;
  /** Resources collected by this attempt so far. */
  resources: number;
  startedAt?: string;
  completedAt?: string;
  /** Why it failed, or completed without data. */
  reason?: string;
}

export interface ShownQuery {
  requestId: string;
  /** `cancelled`: all of its sources were cancelled. */
  status: StoredQueryView['status'] | 'cancelled';
  startedAt: string;
  sources: ShownSource[];
}

/**
 * The progress of a query: the last attempt of each source. Sources that could
 * not start are failed.
 */
export function queryProgress(query: StoredQueryView): ShownQuery {
  const attempts = lastAttempts(query.attempts).map(
    (attempt): ShownSource => ({
      source: attempt.source,
      status: shownStatus(attempt),
      attempt: attempt.attempt,
      resources: attempt.resources,
      startedAt: attempt.startedAt.toISOString(),
      completedAt: attempt.completedAt?.toISOString(),
      reason: attempt.reason,
    }),
  );
  const sources = [...attempts, ...query.errors.map(unstarted)];
  const isCancelled =
    sources.length > 0 && sources.every(({ status }) => status === 'cancelled');
  return {
    requestId: query.requestId,
    status: isCancelled ? 'cancelled' : query.status,
    startedAt: query.startedAt.toISOString(),
    sources,
  };
}

function shownStatus({
  status,
  willRetry,
  reason,
}: StoredAttemptView): ShownSource['status'] {
  if (status !== 'failed') return status;
  if (willRetry) return 'waiting';
  return CANCEL_REASONS.includes(reason ?? '') ? 'cancelled' : 'failed';
}

const unstarted = ({ source, message }: SourceError): ShownSource => ({
  source,
  status: 'failed',
  attempt: 0,
  resources: 0,
  reason: message,
});
