import { setTimeout as sleep } from 'node:timers/promises';
import type { PatientQueries } from './query-progress.ts';

/** Why a stream ended: its token is past its time or good no more, the patient is gone, or it has lasted long enough. */
export type WatchEnd = 'expired' | 'revoked' | 'gone' | 'renew';

export interface WatchOptions {
  /** Reads how things stand; undefined when the patient is gone. */
  read(): Promise<PatientQueries | undefined>;
  /** Whether whoever watches still may. */
  isGood(): Promise<boolean>;
  /** Of the token; none for an API key. */
  expiresAt?: Date;
  /** Aborted when nobody listens any more. */
  signal: AbortSignal;
  /** Between two looks while a query runs, and while none does. */
  pollMs?: { running: number; idle: number };
  lifetimeMs?: number;
}

const POLL_MS = { running: 1_000, idle: 4_000 };
/** A client that lost its way is let go; one that is there comes again. */
const LIFETIME_MS = 15 * 60_000;
/** Before proxies think that the line is dead. */
const SILENCE_MS = 15_000;

/**
 * The queries of a patient as server-sent events: `session` (for how long), `queries` (all that is shown, whenever it has
 * changed), and `end` (why). It looks at PostgreSQL itself rather than being told: any gateway can serve it, and nothing is
 * lost when one of them restarts.
 */
export async function* watchQueries(options: WatchOptions): AsyncGenerator<string> {
  const { signal, expiresAt, pollMs = POLL_MS, lifetimeMs = LIFETIME_MS } = options;
  const endsAt = Date.now() + lifetimeMs;
  yield sse('session', { expiresInSeconds: expiresAt && Math.max(0, secondsUntil(expiresAt)) });
  let shown = '';
  let saidAt = Date.now();
  while (!signal.aborted) {
    if (expiresAt !== undefined && expiresAt.getTime() <= Date.now()) return yield end('expired');
    if (!(await options.isGood())) return yield end('revoked');
    const read = await options.read();
    if (read === undefined) return yield end('gone');
    const next = sse('queries', read);
    if (next !== shown || Date.now() - saidAt > SILENCE_MS) {
      yield next === shown ? ': still here\n\n' : next;
      shown = next;
      saidAt = Date.now();
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
