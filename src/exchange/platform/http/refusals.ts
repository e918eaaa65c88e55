import type { Logger } from '../../../lib/logger.ts';
import { type AuditRecord, insertAuditEntry } from '../audit/audit-store.ts';
import type { Store } from '../database/database.ts';
import { isConnectionFault } from '../database/postgres-errors.ts';

/** A rejected or failed request of a known account. */
export interface RefusedRequest extends Omit<AuditRecord, 'many' | 'details'> {
  accountId: string;
}

/**
 * Individual entries per minute: of one kind (actor, operation and outcome),
 * and of one account in total.
 */
const SINGLE_OF_A_KIND = 10;
const SINGLE_OF_AN_ACCOUNT = 200;
/**
 * Kinds counted separately per account and minute; all others are counted
 * together as `several`.
 */
const KINDS_OF_AN_ACCOUNT = 200;
const WINDOW_MS = 60_000;
const SEVERAL = 'several';

interface CountedRefusal extends RefusedRequest {
  since: Date;
  times: number;
}

interface Window {
  /** Number of individual entries by kind. */
  single: Map<string, number>;
  singles: number;
  counted: Map<string, CountedRefusal>;
}

export type RefusalAudit = ReturnType<typeof createRefusalAudit>;

/**
 * Audits rejected and failed requests at a bounded rate, so that a flood of
 * them overloads neither table nor gateway. In each minute, the first few of
 * each kind get individual entries, written before the response is sent; the
 * others are counted and become one summary entry per kind.
 */
export function createRefusalAudit(deps: {
  store: Store;
  logger: Logger;
  windowMs?: number;
}) {
  const { store, logger, windowMs = WINDOW_MS } = deps;
  let windows = new Map<string, Window>();
  let timer: NodeJS.Timeout | undefined;

  function windowOf(accountId: string): Window {
    const known = windows.get(accountId);
    if (known !== undefined) return known;
    const window: Window = {
      single: new Map(),
      singles: 0,
      counted: new Map(),
    };
    windows.set(accountId, window);
    timer ??= setTimeout(() => void flush(), windowMs).unref();
    return window;
  }

  function count(refusal: RefusedRequest, times = 1, since = new Date()): void {
    const { accountId, outcome } = refusal;
    const { counted } = windowOf(accountId);
    const isOwnKind =
      counted.has(refusalKind(refusal)) || counted.size < KINDS_OF_AN_ACCOUNT;
    const kind: RefusedRequest = isOwnKind
      ? {
          accountId,
          actor: refusal.actor,
          operation: refusal.operation,
          outcome,
        }
      : { accountId, actor: SEVERAL, operation: SEVERAL, outcome };
    const known = counted.get(refusalKind(kind));
    if (known === undefined)
      counted.set(refusalKind(kind), { ...kind, since, times });
    else known.times += times;
  }

  const write = (
    { accountId, ...record }: RefusedRequest,
    many?: AuditRecord['many'],
  ) =>
    store.asAccount(accountId, (tx) =>
      insertAuditEntry(tx, { ...record, many }),
    );

  async function note(refusal: RefusedRequest): Promise<void> {
    const window = windowOf(refusal.accountId);
    const kind = refusalKind(refusal);
    const singles = window.single.get(kind) ?? 0;
    if (singles >= SINGLE_OF_A_KIND || window.singles >= SINGLE_OF_AN_ACCOUNT)
      return count(refusal);
    window.single.set(kind, singles + 1);
    window.singles += 1;
    await write(refusal).catch((err: unknown) => retryLaterOrLog(err, refusal));
  }

  /**
   * After a connection failure the entry is counted, to be written later. Any
   * other failure would recur, so it is logged.
   */
  function retryLaterOrLog(
    err: unknown,
    refusal: RefusedRequest,
    many?: AuditRecord['many'],
  ): void {
    const { accountId, operation, outcome } = refusal;
    if (isConnectionFault(err)) count(refusal, many?.times, many?.since);
    else
      logger.error(
        { err, accountId, operation, outcome, ...many },
        'audit entry not written',
      );
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const ended = windows;
    windows = new Map();
    for (const { counted } of ended.values())
      for (const { since, times, ...kind } of counted.values())
        await write(kind, { since, times }).catch((err) =>
          retryLaterOrLog(err, kind, { since, times }),
        );
  }

  return {
    /**
     * Resolves when the entry is written, or immediately if it is only counted.
     * Never rejects.
     */
    note,
    /**
     * Only counts the refusal, to be written later. For requests that failed
     * because of the database.
     */
    count: (refusal: RefusedRequest): void => count(refusal),
    /** Writes summary entries for everything counted so far. Never rejects. */
    flush,
    /** Flushes for the last time, and logs what could not be written. */
    async close() {
      await flush();
      clearTimeout(timer);
      const lost = [...windows.values()].flatMap(({ counted }) => [
        ...counted.values(),
      ]);
      for (const kind of lost)
        logger.error({ ...kind }, 'audit entry not written');
    },
  };
}

const refusalKind = ({ actor, operation, outcome }: RefusedRequest): string =>
  `${actor}\n${operation}\n${outcome}`;
