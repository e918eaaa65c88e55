import type { Client } from '@temporalio/client';
import type {
  NetworkQueryRequest,
  NetworkQueryStatus,
  TimelineEntry,
} from '../../../contract/network-query.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { StoredPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import type { CountedPage, PageRequest } from '../../platform/database/page.ts';
import type { Caller } from '../../platform/http/caller.ts';
import { createQueryControl, type QueryControl } from './control.ts';
import { createLauncher, type Launcher } from './launcher.ts';
import { type PreparedQuery, type PrepareInput, prepareQuery } from './prepare.ts';
import {
  listQueries,
  type QueryFilter,
  type QueryView,
  readQuery,
  serializeStartedQuery,
} from './query-store.ts';
import { readTimeline } from './timeline-store.ts';

/** The network query operations of the gateway. */
export interface NetworkQueryService extends QueryControl, QueryStart {
  /** Writes the query of a request (E2, E4) in the caller's transaction. */
  startQuery(tx: AccountTx, input: StartInput): Promise<StartedQuery>;
  readQuery(tx: AccountTx, requestId: string): Promise<QueryView | undefined>;
  listQueries(tx: AccountTx, filter: QueryFilter, page: PageRequest): Promise<CountedPage<QueryView>>;
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

/** The two steps of a start: within the caller's transaction, and after its commit. */
interface QueryStart {
  /** Writes a query in the caller's transaction; pass the result to `launchQuery` after the commit. */
  prepareQuery(tx: AccountTx, input: PrepareInput): Promise<PreparedQuery>;
  /** Starts a prepared query's workflow in the background. */
  launchQuery(accountId: string, prepared: Pick<PreparedQuery, 'requestId' | 'run'>): void;
}

interface StartInput {
  caller: Caller;
  patient: StoredPatient;
  request: NetworkQueryRequest;
  purposeOfUse: 'treatment' | 'ias';
  /** With purpose `ias`: the challenge with the active AAL2 session. */
  aal2ChallengeId?: string;
  /** True for a request with the header `priority: u=5` to `u=7` (RFC 9218): it yields to interactive queries. */
  background?: boolean;
}

interface StartedQuery {
  answer: NetworkQueryStatus;
  headers: Record<string, string>;
  launch: () => void;
}

/**
 * Writes a query in the caller's transaction (E2, E4). Call `launch` after the commit. `headers` hold `Retry-After` when a
 * background query met a rate limit.
 */
export async function startQuery(
  tx: AccountTx,
  networkQueries: QueryStart,
  input: StartInput,
): Promise<StartedQuery> {
  const { account } = input.caller;
  const { patient, request, purposeOfUse, aal2ChallengeId, background = false } = input;
  const prepared = await networkQueries.prepareQuery(tx, {
    account,
    patient,
    request,
    purposeOfUse,
    aal2ChallengeId,
    origin: background ? 'monitoring' : 'interactive',
  });
  return {
    answer: serializeStartedQuery(prepared.query, account.dialect),
    headers: background ? retryAfter(prepared.retryAfterMs) : {},
    launch: () => networkQueries.launchQuery(account.id, prepared),
  };
}

const retryAfter = (waitMs: number | undefined): Record<string, string> =>
  waitMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) };
