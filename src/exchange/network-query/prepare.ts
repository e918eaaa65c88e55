import { v7 as uuidv7 } from 'uuid';
import type { NetworkQueryRequest, RequestedSource, SourceError } from '../../contract/network-query.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { backgroundLimit, NETWORK_QUERIES_PER_MINUTE } from '../../contract/query-limits.ts';
import type { AccountSettings } from '../accounts/tables.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { OvertakenError } from '../platform/database/retry.ts';
import { countUse, type LimitUse, readUse } from '../platform/limits/limit-store.ts';
import { callbackHash, callbackToken } from './callback-token.ts';
import { insertQuery, type QueryView } from './query-store.ts';
import { addToTimeline } from './timeline-store.ts';

export interface PrepareInput {
  account: { settings: AccountSettings };
  patient: { id: string; hieOptOut: boolean };
  request: NetworkQueryRequest;
  purposeOfUse: 'treatment' | 'ias';
  /** With purpose ias: the challenge whose session is active; without one no source is asked. */
  aal2ChallengeId?: string;
  /** All but `interactive` is background work: it starts only while less than 80 % of a minute's limit is used. */
  origin: 'interactive' | 'monitoring' | 'bulk';
}

export interface PreparedQuery {
  requestId: string;
  /** As its start is answered. */
  query: QueryView;
  /** Undefined when no source could start. */
  run: number | undefined;
  /** When a source that met its limit may be asked for again. */
  retryAfterMs?: number;
}

/**
 * Writes a query and the first attempt of each source that can start, as part of the caller's transaction.
 * A source that cannot start becomes an entry of `errors`; the query is then that of the others (E2, rule 2).
 */
export async function prepareQuery(
  tx: AccountTx,
  input: PrepareInput,
  callbackKey: string,
): Promise<PreparedQuery> {
  const requestId = uuidv7();
  const isBackground = input.origin !== 'interactive';
  const refused = input.request.sources.flatMap(({ source }) => refusal(source, input) ?? []);
  const allowed = input.request.sources.filter(
    ({ source }) => !refused.some((error) => error.source === source),
  );
  const check = isBackground ? overShare : overLimit;
  const { errors: limited, retryAfterMs } = await check(tx, input.account.settings, allowed);
  const startErrors = [...refused, ...limited];
  const starting = allowed.filter(({ source }) => !limited.some((error) => error.source === source));
  // Whoever works in the background asks again later; a failed query for each time would only bury the others.
  if (isBackground && starting.length === 0 && limited.length > 0)
    return {
      requestId,
      query: notWritten(requestId, input.patient.id, startErrors),
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
      callbackHash: callbackHash(callbackToken(callbackKey, requestId, source, 1)),
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
      message: error.message,
    })),
  );
  return { requestId, query, run: starting.length > 0 ? 0 : undefined, retryAfterMs };
}

/** A background query that found no room is not written at all; its caller starts it again later. */
const notWritten = (requestId: string, patientId: string, errors: SourceError[]): QueryView => ({
  requestId,
  patientId,
  status: 'failed',
  startedAt: new Date(),
  metadata: null,
  attempts: [],
  errors,
});

/** Why a source may not be asked about this patient for this account, if it may not. */
export function refusal(
  source: SourceType,
  input: Pick<PrepareInput, 'account'> & { patient: Pick<PrepareInput['patient'], 'hieOptOut'> },
): SourceError | undefined {
  if (input.account.settings.sources?.[source]?.enabled !== true) {
    return sourceError(source, 400, `Access to the ${source} source is not enabled for this account`);
  }
  if (source === 'hie' && input.patient.hieOptOut) {
    return sourceError(source, 400, 'The patient has opted out of hie queries');
  }
  return undefined;
}

interface Limited {
  errors: SourceError[];
  retryAfterMs?: number;
}

async function overLimit(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly RequestedSource[],
): Promise<Limited> {
  const limit = queriesPerMinute(settings);
  const uses = await countUse(
    tx,
    sources.map(({ source }) => limitName(source)),
  );
  const over = uses.filter(({ used }) => used > limit);
  return limited(sources, over, (source) => `Rate limit of ${limit} ${source} queries per minute exceeded`);
}

/** As `overLimit`, for background work: what finds no room is not counted either. */
async function overShare(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly RequestedSource[],
): Promise<Limited> {
  const rooms = await holdBackgroundRoom(
    tx,
    settings,
    sources.map(({ source }) => source),
  );
  const over = rooms.filter(({ room }) => room === 0);
  const free = rooms.filter(({ room }) => room > 0);
  await countUse(
    tx,
    free.map(({ name }) => name),
  );
  return limited(sources, over, (source) => `No room for background ${source} queries in this minute`);
}

/** Room for background queries of a source in this minute. */
export interface BackgroundRoom {
  source: SourceType;
  /** Of its counter. */
  name: string;
  /** Queries that may still be started. */
  room: number;
  /** Until there is room again at the latest. */
  resetMs: number;
}

/** Holds the counters, so that nobody else counts until the transaction ends. */
async function holdBackgroundRoom(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly SourceType[],
): Promise<BackgroundRoom[]> {
  return roomOf(await countUse(tx, sources.map(limitName), 0), settings, sources);
}

/** As it is now, holding nothing. What is started must go through `takeBackgroundRoom` at the transaction's end. */
export async function readBackgroundRoom(
  tx: AccountTx,
  settings: AccountSettings,
  sources: readonly SourceType[],
): Promise<BackgroundRoom[]> {
  return roomOf(await readUse(tx, sources.map(limitName)), settings, sources);
}

/** Counts what is being started. Throws OvertakenError when others have used the room meanwhile. */
export async function takeBackgroundRoom(
  tx: AccountTx,
  settings: AccountSettings,
  starts: readonly { source: SourceType; count: number }[],
): Promise<void> {
  const limit = backgroundLimit(queriesPerMinute(settings));
  // In the order in which everybody takes several counters.
  for (const { source, count } of [...starts].sort((a, b) => (a.source < b.source ? -1 : 1))) {
    const [use] = count === 0 ? [] : await countUse(tx, [limitName(source)], count);
    if (use !== undefined && use.used > limit) throw new OvertakenError('others have used the limit up');
  }
}

function roomOf(uses: readonly LimitUse[], settings: AccountSettings, sources: readonly SourceType[]) {
  const limit = backgroundLimit(queriesPerMinute(settings));
  return sources.map((source): BackgroundRoom => {
    const name = limitName(source);
    const use = uses.find((entry) => entry.name === name);
    return { source, name, room: Math.max(0, limit - (use?.used ?? 0)), resetMs: use?.resetMs ?? 0 };
  });
}

function limited(
  sources: readonly RequestedSource[],
  over: readonly { name: string; resetMs: number }[],
  why: (source: SourceType) => string,
): Limited {
  const errors = sources.flatMap(({ source }) => {
    const use = over.find(({ name }) => name === limitName(source));
    if (use === undefined) return [];
    const seconds = Math.ceil(use.resetMs / 1000);
    return [sourceError(source, 429, `${why(source)}; try again in ${seconds} s`)];
  });
  if (errors.length === 0) return { errors };
  return { errors, retryAfterMs: Math.max(...over.map(({ resetMs }) => resetMs)) };
}

const queriesPerMinute = (settings: AccountSettings): number =>
  settings.limits?.networkQueriesPerMinute ?? NETWORK_QUERIES_PER_MINUTE;

const limitName = (source: SourceType): string => `network-query/${source}`;

function sourceError(source: SourceType, httpStatus: number, message: string): SourceError {
  return { source, httpStatus, message, timestamp: new Date().toISOString() };
}
