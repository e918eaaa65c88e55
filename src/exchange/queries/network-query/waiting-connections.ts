import type { SourceType } from '../../../contract/primitives.ts';
import type { Store } from '../../platform/database/database.ts';
import { rowsOf, sqlFile } from '../../platform/database/pg-arrays.ts';

/** Open queries that wait for a source longer than they should. */
export interface WaitingConnection {
  /** The source, or the id of an account's connection to it. */
  connection: string;
  source: SourceType;
  queries: number;
  /** How many of these have calls that fail. */
  failing: number;
  /** When the first of them began to ask, whatever attempt it is at. */
  since: Date;
  oldestQueryId: string;
  /**
   * In how many seconds 95 % of the newest queries were answered there; null if
   * none was, or it was not asked because all of them fail.
   */
  usualSeconds: number | null;
  /** Of the first failing one: why its newest call failed. */
  reason: string | null;
}

const WAITING_CONNECTIONS = sqlFile('waiting-connections.sql', import.meta.url);

/**
 * What open queries of all accounts wait for, longest wait first. Not part of
 * the metrics' report: it goes through the newest queries of each account.
 */
export const readWaitingConnections = (
  store: Pick<Store, 'asSystem'>,
): Promise<WaitingConnection[]> =>
  store.asSystem((tx) => rowsOf(tx, WAITING_CONNECTIONS<WaitingConnection>()));
