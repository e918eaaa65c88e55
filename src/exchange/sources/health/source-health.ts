import type { Store } from '../../platform/database/database.ts';
import type { SourceConnector, SourcePage } from '../connectors/connector.ts';
import { readConnections, recordAnswer, recordFailure, takeProbe } from './connection-store.ts';
import { admission, type ConnectionState, PROBE_LEASE_MS, waitWhileHeld } from './rules/breaker.ts';

/** What workers know of the connections to sources, and what they report about them. */
export interface SourceHealth {
  /** Whether a call may be made over the connection now; otherwise why not, and how long to wait. */
  admit(connection: string): Promise<{ mayCall: true } | { mayCall: false; reason: string; waitMs: number }>;
  /** The source answered, whatever it said. */
  answered(connection: string): Promise<void>;
  /** A call of `attempt` failed for a reason that is not about its patient. `reason` contains no personal data. */
  failed(connection: string, failure: { attempt: string; reason: string }): Promise<void>;
}

/** For how long a process relies on what it read, so that a healthy source costs one read a second and not one a call. */
const RELY_ON_MS = 1_000;

/** Reads and writes the state that all workers share in PostgreSQL. */
export function createSourceHealth(store: Pick<Store, 'asSystem'>): SourceHealth {
  let known: { at: number; states: Promise<ReadonlyMap<string, ConnectionState>> } | undefined;

  function stateOf(connection: string): Promise<ConnectionState | undefined> {
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
    async admit(connection) {
      const state = await stateOf(connection);
      const admitted = admission(state, Date.now());
      if (admitted.kind === 'call' || state === undefined) return { mayCall: true };
      if (admitted.kind === 'probe') {
        changed();
        if (await store.asSystem((tx) => takeProbe(tx, connection, PROBE_LEASE_MS))) return { mayCall: true };
      }
      const reason =
        admitted.kind === 'wait' ? admitted.reason : (state.reason ?? 'the source does not answer');
      return { mayCall: false, reason, waitMs: waitWhileHeld(state, Date.now()) };
    },
    async answered(connection) {
      const state = await stateOf(connection);
      if (state === undefined || state.failing.length === 0) return;
      changed();
      await store.asSystem((tx) => recordAnswer(tx, connection));
    },
    async failed(connection, failure) {
      changed();
      await store.asSystem((tx) => recordFailure(tx, connection, failure));
    },
  };
}

/** The same connector, with `onAnswer` called as soon as the source has answered a call. */
export function watchConnector(connector: SourceConnector, onAnswer: () => Promise<void>): SourceConnector {
  async function watched<T>(call: Promise<T>): Promise<T> {
    const result = await call;
    await onAnswer();
    return result;
  }
  async function* watchedPages(pages: AsyncIterable<SourcePage>): AsyncGenerator<SourcePage> {
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
