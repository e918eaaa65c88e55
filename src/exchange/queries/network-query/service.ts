import type { Client } from '@temporalio/client';
import type { TimelineEntry } from '../../../contract/network-query.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { createQueryControl, type QueryControl } from './control.ts';
import { createLauncher, type Launcher } from './launcher.ts';
import { prepareQuery } from './prepare.ts';
import { listQueries, type QueryFilter, type QueryView, readQuery } from './query-store.ts';
import { type QueryStart, type StartedQuery, type StartInput, startQuery } from './start-query.ts';
import { readTimeline } from './timeline-store.ts';

/** The network query operations of the gateway. */
export interface NetworkQueryService extends QueryControl, QueryStart {
  /** Writes the query of a request (E2, E4) in the caller's transaction. */
  startQuery(tx: AccountTx, input: StartInput): Promise<StartedQuery>;
  readQuery(tx: AccountTx, requestId: string): Promise<QueryView | undefined>;
  listQueries(
    tx: AccountTx,
    filter: QueryFilter,
    page: PageRequest,
  ): Promise<Page<QueryView> & { total: number }>;
  readTimeline(tx: AccountTx, requestId: string): Promise<TimelineEntry[]>;
  /** Resolves when all background work has finished. */
  drain(): Promise<void>;
}

export function createNetworkQueryService(deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
  /** LINK_SIGNING_KEY, from which the sources' callback tokens are derived. */
  callbackKey: string;
  /** How long a caller waits for a running workflow to accept a command. */
  commandTimeoutMs?: number;
}): NetworkQueryService & { launcher: Launcher } {
  const launcher = createLauncher(deps);
  const begin: QueryStart = {
    prepareQuery: (tx, input) => prepareQuery(tx, input, deps.callbackKey),
    launchQuery(accountId, prepared) {
      if (prepared.run !== undefined) launcher.launch(accountId, prepared.requestId, prepared.run);
    },
  };
  return {
    launcher,
    ...begin,
    startQuery: (tx, input) => startQuery(tx, begin, input),
    readQuery,
    listQueries,
    readTimeline,
    drain: () => launcher.drain(),
    ...createQueryControl({ ...deps, launcher }),
  };
}
