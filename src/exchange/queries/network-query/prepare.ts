import { v7 as uuidv7 } from 'uuid';
import type {
  NetworkQueryRequest,
  RequestedSource,
  SourceError,
} from '../../../contract/network-query.ts';
import { SOURCE_TYPES, type SourceType } from '../../../contract/primitives.ts';
import {
  backgroundLimit,
  NETWORK_QUERIES_PER_MINUTE,
  PHARMACY_REALTIME_PER_DAY,
  sweepLimit,
} from '../../../contract/query-limits.ts';
import { deniedSources } from '../../people/consents/consent-store.ts';
import type { AccountSettings } from '../../platform/account.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { OvertakenError } from '../../platform/database/retry.ts';
import {
  countUse,
  type LimitUse,
  readUse,
} from '../../platform/limits/limit-store.ts';
import { ownConnections } from '../../sources/connections/connection-store.ts';
import { backgroundHoldMs } from '../../sources/health/rules/breaker.ts';
import { readConnections } from '../../sources/health/source-health.ts';
import { callbackHash, callbackToken } from './attempt-store.ts';
import {
  insertQuery,
  type RunToStart,
  type StoredQueryView,
} from './query-store.ts';
import { excludedByConsent } from './rules/query-status.ts';
import { addToTimeline } from './timeline-store.ts';

export interface PrepareInput {
  account: { settings: AccountSettings };
  /**
   * `externalId` is only part of the answer; callers that do not return it
   * leave it out.
   */
  patient: { id: string; externalId?: string | null; hieOptOut: boolean };
  request: NetworkQueryRequest;
  purposeOfUse: 'treatment' | 'ias';
  /**
   * With purpose `ias`: the challenge with the active AAL2 session; without one
   * no source is asked.
   */
  aal2ChallengeId?: string;
  /**
   * `monitoring` and `bulk` are background work: it starts only while less than
   * 80 % of a minute's limit is used.
   */
  origin: 'interactive' | 'monitoring' | 'bulk';
}

export interface PreparedQuery {
  requestId: string;
  /** The query as its start returns it. */
  query: StoredQueryView;
  /** Undefined when no source could start. */
  run: number | undefined;
  /** What the run's workflow begins with. */
  toStart?: RunToStart;
  /** Milliseconds until a rate-limited source may be queried again. */
  retryAfterMs?: number;
}

/**
 * Writes a query and the first attempt of each source that can start, in the
 * caller's transaction. A source that cannot start becomes an entry of
 * `errors`, and the query covers the other sources (docs/interface.md, E2).
 */
export async function prepareQuery(
  tx: AccountTx,
  input: PrepareInput,
  callbackKey: string,
): Promise<PreparedQuery> {
  const requestId = uuidv7();
  const isBackground = input.origin !== 'interactive';
  const sources = input.request.sources.map(({ source }) => source);
  const denied = await deniedSources(
    tx,
    input.patient.id,
    input.purposeOfUse,
    sources,
  );
  const refused = sources.flatMap(
    (source) => whyNotAsked(source, input, denied) ?? [],
  );
  const allowed = input.request.sources.filter(
    ({ source }) => !refused.some((error) => error.source === source),
  );
  const check = isBackground ? checkBackgroundShare : checkLimit;
  const { errors: limited, retryAfterMs } = await check(
    tx,
    input.account.settings,
    allowed,
  );
  const withinMinute = allowed.filter(
    ({ source }) => !limited.some((error) => error.source === source),
  );
  const usedUp = await checkRealtime(tx, input.account.settings, withinMinute);
  const startErrors = [...refused, ...limited, ...usedUp];
  const starting = withinMinute.filter(
    ({ source }) => !usedUp.some((error) => error.source === source),
  );
  // A background caller tries again later. Storing a failed query each time
  // would bury the real ones in the lists.
  if (isBackground && starting.length === 0 && limited.length > 0)
    return {
      requestId,
      query: unstoredQuery(requestId, input.patient, startErrors),
      run: undefined,
      retryAfterMs,
    };

  const query = await insertQuery(tx, {
    id: requestId,
    patientId: input.patient.id,
    purposeOfUse: input.purposeOfUse,
    aal2ChallengeId: input.aal2ChallengeId,
    origin: input.origin,
    metadata: input.request.metadata ?? null,
    requested: input.request.sources,
    startErrors,
    starting: starting.map(({ source }) => ({
      source,
      callbackHash: callbackHash(
        callbackToken(callbackKey, requestId, source, 1),
      ),
    })),
  });
  await addToTimeline(
    tx,
    requestId,
    {
      kind: 'query-accepted',
      message: `Query accepted for ${input.request.sources.map(({ source }) => source).join(', ')}`,
    },
    ...startErrors.map((error) => ({
      source: error.source,
      kind: 'source-not-started',
      message: `The ${error.source} source was not started: ${error.message}`,
    })),
  );
  return {
    requestId,
    query,
    run: starting.length > 0 ? 0 : undefined,
    toStart: {
      origin: input.origin,
      patientId: input.patient.id,
      sources: SOURCE_TYPES.filter((type) =>
        starting.some(({ source }) => source === type),
      ).map((source) => ({ source, attempt: 1, firstAttempt: 1 })),
    },
    retryAfterMs,
  };
}

/**
 * The answer to a background query that is not stored, because rate limits left
 * no room; its caller starts it again later.
 */
const unstoredQuery = (
  requestId: string,
  { id: patientId, externalId }: PrepareInput['patient'],
  errors: SourceError[],
): StoredQueryView => ({
  requestId,
  patientId,
  externalId: externalId ?? null,
  status: 'failed',
  startedAt: new Date(),
  metadata: null,
  attempts: [],
  errors,
});

/**
 * Why a source may not be asked about this patient for this account; undefined
 * when it may.
 *
 * @param denied the sources that consents exclude; without them, only the flag
 *   is considered, and the query's first step checks the consents
 */
export function whyNotAsked(
  source: SourceType,
  input: Pick<PrepareInput, 'account'> & {
    patient: Pick<PrepareInput['patient'], 'hieOptOut'>;
  },
  denied: ReadonlySet<SourceType> = new Set(),
): SourceError | undefined {
  if (input.account.settings.sources?.[source]?.enabled !== true) {
    return sourceError(
      source,
      400,
      `Access to the ${source} source is not enabled for this account`,
    );
  }
  if (source === 'hie' && input.patient.hieOptOut)
    return sourceError(source, 400, 'The patient has opted out of hie queries');
  return denied.has(source)
    ? sourceError(source, 400, excludedByConsent(source))
    : undefined;
}

interface LimitCheck {
  errors: SourceError[];
  retryAfterMs?: number;
}

/**
 * Counts one query for each source, and returns an error for each source over
 * its limit.
 */
async function checkLimit(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly RequestedSource[],
): Promise<LimitCheck> {
  const limit = queriesPerMinute(settings);
  const uses = await countUse(
    tx,
    sources.map(({ source }) => limitName(source)),
  );
  const over = uses.filter(({ used }) => used > limit);
  return limitErrors(
    sources,
    over,
    (source) => `Rate limit of ${limit} ${source} queries per minute exceeded`,
  );
}

/**
 * Counts a pharmacy query on the source's immediate path, and returns an error
 * above the day's limit. It does not become a routine query: the caller asked
 * for an answer now, and decides whether a later one still serves.
 */
async function checkRealtime(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly RequestedSource[],
): Promise<SourceError[]> {
  const realtime = sources.find((requested) => requested.realtime);
  if (realtime === undefined) return [];
  const limit =
    settings.limits?.pharmacyRealtimePerDay ?? PHARMACY_REALTIME_PER_DAY;
  const [use] = await countUse(tx, ['pharmacy-realtime'], 1, 'day');
  if (use === undefined || use.used <= limit) return [];
  const message = `Limit of ${limit} realtime pharmacy queries per day exceeded; query without realtime, or again after midnight UTC`;
  return [sourceError(realtime.source, 429, message)];
}

/**
 * The same for background work, within its 80 % share. Sources without room are
 * not counted.
 */
async function checkBackgroundShare(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly RequestedSource[],
): Promise<LimitCheck> {
  const rooms = await lockBackgroundRoom(
    tx,
    settings,
    sources.map(({ source }) => source),
  );
  const over = rooms.filter(({ room }) => room === 0);
  const held = new Set(
    rooms.flatMap(({ source, isHeld }) => (isHeld ? [source] : [])),
  );
  const free = rooms.filter(({ room }) => room > 0);
  await countUse(
    tx,
    free.map(({ name }) => name),
  );
  return limitErrors(sources, over, (source) =>
    held.has(source)
      ? `The ${source} source is not available for background queries`
      : `The share of the ${source} rate limit for background queries is used up in this minute`,
  );
}

/** How many background queries of a source may still start in this minute. */
export interface BackgroundRoom {
  source: SourceType;
  /** Name of the source's counter. */
  name: string;
  /** Queries that may still be started. */
  room: number;
  /**
   * Milliseconds until the counter resets, or until the source is tried again.
   */
  resetMs: number;
  /**
   * The source is away or paused: it has no room, whatever the counter says.
   */
  isHeld: boolean;
}

/**
 * Reads the counters and locks them, so that no other transaction counts until
 * this one ends.
 */
async function lockBackgroundRoom(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly SourceType[],
): Promise<BackgroundRoom[]> {
  const holds = await readHolds(tx, sources);
  const limit = backgroundLimit(queriesPerMinute(settings));
  return roomOf(await countUse(tx, sources.map(limitName), 0), limit, holds);
}

/**
 * Reads the room of sweeps without locking; call `takeSweepRoom` for the
 * started queries at the end of the transaction.
 */
export async function readSweepRoom(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly SourceType[],
): Promise<BackgroundRoom[]> {
  const holds = await readHolds(tx, sources);
  return roomOf(
    await readUse(tx, sources.map(limitName)),
    sweepLimit(queriesPerMinute(settings)),
    holds,
  );
}

/**
 * Counts the queries being started. Throws OvertakenError when other
 * transactions have used the room meanwhile.
 */
export async function takeSweepRoom(
  tx: AccountTx,
  settings: AccountSettings,
  starts: readonly { source: SourceType; count: number }[],
): Promise<void> {
  const limit = sweepLimit(queriesPerMinute(settings));
  // Every transaction locks the counters in this order, so that two never
  // deadlock.
  for (const { source, count } of [...starts].sort((a, b) =>
    a.source < b.source ? -1 : 1,
  )) {
    const [use] =
      count === 0 ? [] : await countUse(tx, [limitName(source)], count);
    if (use !== undefined && use.used > limit)
      throw new OvertakenError(
        'the background share of the rate limit was used up meanwhile',
      );
  }
}

const ALL_PAUSED_MS = 30_000;

/**
 * For how long background work of the account holds each source, in
 * milliseconds: by its own connections, if it has any.
 */
async function readHolds(
  tx: AccountTx,
  sources: readonly SourceType[],
): Promise<{ source: SourceType; holdMs: number }[]> {
  const states = await readConnections(tx);
  const own = await ownConnections(tx);
  return sources.map((source) => {
    const keys = own.get(source) ?? [source];
    // Held only if none of its connections may be called; an account that has
    // paused all of its own is held, too.
    const holds = keys.map((key) =>
      backgroundHoldMs(states.get(key), Date.now()),
    );
    return {
      source,
      holdMs: keys.length === 0 ? ALL_PAUSED_MS : Math.min(...holds),
    };
  });
}

function roomOf(
  uses: readonly LimitUse[],
  limit: number,
  holds: readonly { source: SourceType; holdMs: number }[],
): BackgroundRoom[] {
  return holds.map(({ source, holdMs }) => {
    const name = limitName(source);
    if (holdMs > 0)
      return { source, name, room: 0, resetMs: holdMs, isHeld: true };
    const use = uses.find((entry) => entry.name === name);
    const room = Math.max(0, limit - (use?.used ?? 0));
    return { source, name, room, resetMs: use?.resetMs ?? 0, isHeld: false };
  });
}

function limitErrors(
  sources: readonly RequestedSource[],
  over: readonly { name: string; resetMs: number }[],
  why: (source: SourceType) => string,
): LimitCheck {
  const errors = sources.flatMap(({ source }) => {
    const use = over.find(({ name }) => name === limitName(source));
    if (use === undefined) return [];
    const seconds = Math.ceil(use.resetMs / 1000);
    return [
      sourceError(source, 429, `${why(source)}; try again in ${seconds} s`),
    ];
  });
  if (errors.length === 0) return { errors };
  return {
    errors,
    retryAfterMs: Math.max(...over.map(({ resetMs }) => resetMs)),
  };
}

const queriesPerMinute = (settings: AccountSettings): number =>
  settings.limits?.networkQueriesPerMinute ?? NETWORK_QUERIES_PER_MINUTE;

const limitName = (source: SourceType): string => `network-query/${source}`;

function sourceError(
  source: SourceType,
  httpStatus: number,
  message: string,
): SourceError {
  return { source, httpStatus, message, timestamp: new Date().toISOString() };
}
