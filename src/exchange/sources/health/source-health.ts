import { type Selectable, sql } from 'kysely';
import type { SourceType } from '../../../contract/primitives.ts';
import type {
  AccountTx,
  Store,
  SystemTx,
} from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';
import type { SourceConnector, SourcePage } from '../connectors/connector.ts';
import {
  admission,
  afterFailure,
  type ConnectionState,
  newConnection,
  PROBE_LEASE_MS,
  waitWhileHeld,
} from './rules/breaker.ts';

export type SourceHealth = ReturnType<typeof createSourceHealth>;

/** A wait because no query may call the source now. */
export interface Hold {
  reason: string;
  waitMs: number;
  /**
   * An operator has paused the connection: the time does not count for
   * deadlines.
   */
  isPaused: boolean;
}

/**
 * For how long a process relies on what it read, so that a healthy source costs
 * one read a second and not one a call.
 */
const RELY_ON_MS = 1_000;

/**
 * What workers know of the connections to sources, and what they report about
 * them: the state that all share in PostgreSQL.
 */
export function createSourceHealth(store: Pick<Store, 'asSystem'>) {
  let known:
    | { at: number; states: Promise<ReadonlyMap<string, ConnectionState>> }
    | undefined;

  function connectionState(
    connection: string,
  ): Promise<ConnectionState | undefined> {
    if (known === undefined || Date.now() - known.at > RELY_ON_MS) {
      const states = store.asSystem(readConnections);
      known = { at: Date.now(), states };
      states.catch(() => {
        known = undefined;
      });
    }
    return known.states.then((states) => states.get(connection));
  }

  const changed = () => {
    known = undefined;
  };

  return {
    /**
     * Whether a call may be made over the connection now; otherwise why not,
     * and how long to wait.
     */
    async admit(
      connection: string,
    ): Promise<{ mayCall: true } | ({ mayCall: false } & Hold)> {
      const state = await connectionState(connection);
      const admitted = admission(state, Date.now());
      if (admitted.kind === 'call' || state === undefined)
        return { mayCall: true };
      if (admitted.kind === 'probe') {
        changed();
        if (
          await store.asSystem((tx) =>
            takeProbe(tx, connection, PROBE_LEASE_MS),
          )
        )
          return { mayCall: true };
      }
      const {
        reason = state.reason ?? 'the source does not answer',
        isPaused = false,
      } = admitted.kind === 'wait' ? admitted : {};
      return {
        mayCall: false,
        reason,
        isPaused,
        waitMs: waitWhileHeld(state, Date.now()),
      };
    },
    /** The source answered, whatever it said. */
    async answered(connection: string): Promise<void> {
      const state = await connectionState(connection);
      if (state === undefined || state.failing.length === 0) return;
      changed();
      await store.asSystem((tx) => recordAnswer(tx, connection));
    },
    /**
     * A call of `attempt` failed for a reason that is not about its patient.
     * `reason` contains no personal data.
     */
    async failed(
      connection: string,
      failure: { attempt: string; reason: string },
    ): Promise<void> {
      changed();
      await store.asSystem((tx) => recordFailure(tx, connection, failure));
    },
  };
}

/**
 * The same connector, with `onAnswer` called as soon as the source has answered
 * a call.
 */
export function watchConnector(
  connector: SourceConnector,
  onAnswer: () => Promise<void>,
): SourceConnector {
  async function watched<T>(call: Promise<T>): Promise<T> {
    const result = await call;
    await onAnswer();
    return result;
  }
  async function* watchedPages(
    pages: AsyncIterable<SourcePage>,
  ): AsyncGenerator<SourcePage> {
    for await (const page of pages) {
      await onAnswer();
      yield page;
    }
  }
  return {
    ...connector,
    begin: (...args) => watched(connector.begin(...args)),
    poll: (...args) => watched(connector.poll(...args)),
    resume: (...args) => watchedPages(connector.resume(...args)),
  };
}

type Row = Selectable<Database['source_connection']>;

const toState = (row: Row): ConnectionState => ({
  connection: row.connection,
  failing: row.failing,
  reason: row.reason ?? undefined,
  openedAt: row.opened_at?.getTime(),
  probes: row.probes,
  nextProbeAt: row.next_probe_at?.getTime(),
  paused:
    row.paused_at === null
      ? undefined
      : {
          at: row.paused_at.getTime(),
          by: row.paused_by ?? '',
          reason: row.pause_reason ?? '',
        },
});

const HEALTHY = {
  failing: [],
  reason: null,
  opened_at: null,
  probes: 0,
  next_probe_at: null,
};

/** Every connection of which something is known, by its key. */
export async function readConnections(
  tx: AccountTx | SystemTx,
): Promise<ReadonlyMap<string, ConnectionState>> {
  const rows = await tx.db
    .selectFrom('source_connection')
    .selectAll()
    .execute();
  return new Map(rows.map((row) => [row.connection, toState(row)]));
}

/** The same of some connections only. */
export async function readConnectionsOf(
  tx: AccountTx | SystemTx,
  connections: readonly string[],
): Promise<ReadonlyMap<string, ConnectionState>> {
  if (connections.length === 0) return new Map();
  const rows = await tx.db
    .selectFrom('source_connection')
    .selectAll()
    .where('connection', 'in', connections)
    .execute();
  return new Map(rows.map((row) => [row.connection, toState(row)]));
}

/**
 * Records that a call of `attempt` failed; opens the breaker when it is one too
 * many. Returns the state after it.
 */
async function recordFailure(
  tx: SystemTx,
  connection: string,
  failure: { attempt: string; reason: string },
): Promise<ConnectionState> {
  await tx.db
    .insertInto('source_connection')
    .values({ connection })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const row = await tx.db
    .selectFrom('source_connection')
    .selectAll()
    .where('connection', '=', connection)
    .forUpdate()
    .executeTakeFirst();
  const state = afterFailure(
    row === undefined ? newConnection(connection) : toState(row),
    failure,
    Date.now(),
  );
  await tx.db
    .updateTable('source_connection')
    .set({
      failing: [...state.failing],
      reason: state.reason ?? null,
      opened_at: dateOf(state.openedAt),
      probes: state.probes,
      next_probe_at: dateOf(state.nextProbeAt),
    })
    .where('connection', '=', connection)
    .execute();
  return state;
}

/** Records that the source answered: the breaker closes. */
async function recordAnswer(tx: SystemTx, connection: string): Promise<void> {
  await tx.db
    .updateTable('source_connection')
    .set(HEALTHY)
    .where('connection', '=', connection)
    .execute();
}

/** Takes the probe that is due; false when another worker has taken it. */
async function takeProbe(
  tx: SystemTx,
  connection: string,
  leaseMs: number,
): Promise<boolean> {
  const now = Date.now();
  const taken = await tx.db
    .updateTable('source_connection')
    .set(({ eb }) => ({
      probes: eb('probes', '+', 1),
      next_probe_at: new Date(now + leaseMs),
    }))
    .where('connection', '=', connection)
    .where('paused_at', 'is', null)
    .where('next_probe_at', '<=', new Date(now))
    .returning('connection')
    .executeTakeFirst();
  return taken !== undefined;
}

/** Pauses a connection, or changes who paused it and why. */
export async function pauseConnection(
  tx: SystemTx,
  connection: string,
  { by, reason }: { by: string; reason: string },
): Promise<void> {
  const pause = {
    paused_at: sql<Date>`now()`,
    paused_by: by,
    pause_reason: reason,
  };
  await tx.db
    .insertInto('source_connection')
    .values({ connection, ...pause })
    .onConflict((conflict) => conflict.column('connection').doUpdateSet(pause))
    .execute();
}

/**
 * Ends a pause, and forgets earlier failures, so that waiting queries call
 * again. Returns false when it is not paused.
 */
export async function resumeConnection(
  tx: SystemTx,
  connection: string,
): Promise<boolean> {
  const resumed = await tx.db
    .updateTable('source_connection')
    .set({ ...HEALTHY, paused_at: null, paused_by: null, pause_reason: null })
    .where('connection', '=', connection)
    .where('paused_at', 'is not', null)
    .returning('connection')
    .executeTakeFirst();
  return resumed !== undefined;
}

/** The attempts of all accounts whose calls to a source fail now. */
export interface WaitingQueries {
  queries: number;
  /** Since when the calls of the first of them fail. */
  failingSince: Date;
}

/** The attempts that wait for their source, because their calls fail. */
export async function countWaiting(
  tx: SystemTx,
): Promise<ReadonlyMap<SourceType, WaitingQueries>> {
  const rows = await tx.db
    .selectFrom('network_query_attempt')
    .select(({ fn }) => [
      'source',
      fn.countAll<number>().as('queries'),
      fn.min<Date>('failing_since').as('failingSince'),
    ])
    .where('status', '=', 'running')
    .where('failing_since', 'is not', null)
    .groupBy('source')
    .execute();
  return new Map(
    rows.map(({ source, queries, failingSince }) => [
      source,
      { queries: Number(queries), failingSince },
    ]),
  );
}

const dateOf = (at: number | undefined): Date | null =>
  at === undefined ? null : new Date(at);
