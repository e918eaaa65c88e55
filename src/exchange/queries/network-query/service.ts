import type {
  NetworkQueryRequest,
  NetworkQueryStatus,
} from '../../../contract/network-query.ts';
import type { StoredPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { Platform } from '../../platform/platform.ts';
import { type ControlDeps, createQueryControl } from './control.ts';
import { createLauncher } from './launcher.ts';
import {
  type PreparedQuery,
  type PrepareInput,
  prepareQuery,
} from './prepare.ts';
import {
  listQueries,
  readQuery,
  serializeStartedQuery,
} from './query-store.ts';
import { readTimeline } from './timeline-store.ts';

/** The network query operations of the gateway. */
export type NetworkQueryService = Omit<
  ReturnType<typeof createNetworkQueryService>,
  'launcher'
>;

export function createNetworkQueryService(
  deps: ControlDeps & Pick<Platform, 'logger'>,
) {
  const launcher = createLauncher(deps);
  /**
   * The two steps of a start: within the caller's transaction, and after its
   * commit.
   */
  const begin = {
    /**
     * Writes a query in the caller's transaction; pass the result to
     * `launchQuery` after the commit.
     */
    prepareQuery: (tx: AccountTx, input: PrepareInput) =>
      prepareQuery(tx, input, deps.callbackKey),
    /** Starts a prepared query's workflow in the background. */
    launchQuery(
      accountId: string,
      {
        requestId,
        run,
        toStart,
      }: Pick<PreparedQuery, 'requestId' | 'run' | 'toStart'>,
    ): void {
      if (run !== undefined)
        launcher.launch(accountId, requestId, run, toStart);
    },
  };
  return {
    launcher,
    ...begin,
    /** Writes the query of a request (E2, E4) in the caller's transaction. */
    startQuery: (tx: AccountTx, input: StartInput) =>
      startQuery(tx, begin, input),
    readQuery,
    listQueries,
    readTimeline,
    /** Resolves when all background work has finished. */
    drain: () => launcher.drain(),
    ...createQueryControl({ ...deps, launcher }),
  };
}

interface StartInput {
  caller: Caller;
  patient: StoredPatient;
  request: NetworkQueryRequest;
  purposeOfUse: 'treatment' | 'ias';
  /** With purpose `ias`: the challenge with the active AAL2 session. */
  aal2ChallengeId?: string;
  /**
   * True for a request with the header `priority: u=5` to `u=7` (RFC 9218): it
   * yields to interactive queries.
   */
  background?: boolean;
}

/**
 * Writes a query in the caller's transaction (E2, E4). Call `launch` after the
 * commit. `headers` hold `Retry-After` when a background query met a rate
 * limit.
 */
export async function startQuery(
  tx: AccountTx,
  networkQueries: Pick<NetworkQueryService, 'prepareQuery' | 'launchQuery'>,
  input: StartInput,
): Promise<{
  answer: NetworkQueryStatus;
  headers: Record<string, string>;
  launch: () => void;
}> {
  const { account } = input.caller;
  const {
    patient,
    request,
    purposeOfUse,
    aal2ChallengeId,
    background = false,
  } = input;
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
  waitMs === undefined
    ? {}
    : { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) };
