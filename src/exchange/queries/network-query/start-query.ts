import type { NetworkQueryRequest, NetworkQueryStatus } from '../../../contract/network-query.ts';
import type { StoredPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { PreparedQuery, PrepareInput } from './prepare.ts';
import { serializeStartedQuery } from './serializers.ts';

/** The two steps of a start: within the caller's transaction, and after its commit. */
export interface QueryStart {
  /** Writes a query in the caller's transaction; pass the result to `launchQuery` after the commit. */
  prepareQuery(tx: AccountTx, input: PrepareInput): Promise<PreparedQuery>;
  /** Starts a prepared query's workflow in the background. */
  launchQuery(accountId: string, prepared: Pick<PreparedQuery, 'requestId' | 'run'>): void;
}

export interface StartInput {
  caller: Caller;
  patient: StoredPatient;
  request: NetworkQueryRequest;
  purposeOfUse: 'treatment' | 'ias';
  /** With purpose `ias`: the challenge with the active AAL2 session. */
  aal2ChallengeId?: string;
  /** True for a request with the header `priority: u=5` to `u=7` (RFC 9218): it yields to interactive queries. */
  background?: boolean;
}

export interface StartedQuery {
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
