import { setTimeout as sleep } from 'node:timers/promises';
import type { PatientQueries } from './query-progress.ts';

/** Why a stream ended: the token expired or was revoked, the patient no longer exists, or the client must reconnect. */
export type WatchEnd = 'expired' | 'revoked' | 'gone' | 'renew';

export interface WatchOptions {
  /** Reads the current state; undefined when the patient no longer exists. */
  read(): Promise<PatientQueries | undefined>;
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
/** A stream ends after this time, which frees abandoned ones; a live client reconnects. */
const LIFETIME_MS = 15 * 60_000;
/** Sends a comment after this much silence, so that proxies do not close the connection. */
const SILENCE_MS = 15_000;

/**
 * Streams the queries of a patient as server-sent events: `session` (seconds to expiry), `queries` (the full state, whenever
 * it has changed), and `end` (the reason). It polls PostgreSQL, so any gateway can serve it and nothing is lost when a
 * gateway restarts.
 */
export async function* watchQueries(options: WatchOptions): AsyncGenerator<string> {
  const { signal, expiresAt, pollMs = POLL_MS, lifetimeMs = LIFETIME_MS } = options;
  const endsAt = Date.now() + lifetimeMs;
  yield sse('session', { expiresInSeconds: expiresAt && Math.max(0, secondsUntil(expiresAt)) });
  let shown = '';
  let sentAt = Date.now();
  while (!signal.aborted) {
    if (expiresAt !== undefined && expiresAt.getTime() <= Date.now()) return yield end('expired');
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
    const untilEnd = Math.min(endsAt, expiresAt?.getTime() ?? endsAt) - Date.now();
    const waitMs = Math.max(0, Math.min(isRunning ? pollMs.running : pollMs.idle, untilEnd));
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

const sse = (event: string, data: object): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const end = (reason: WatchEnd): string => sse('end', { reason });
const secondsUntil = (time: Date): number => Math.floor((time.getTime() - Date.now()) / 1000);
