import type { NetworkQueryRequest, NetworkQueryStatus } from '../../../contract/network-query.ts';
import type { StoredPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { Caller } from '../../access/authentication/authenticate.ts';
import { serializeStartedQuery } from './serializers.ts';
import type { NetworkQueryService } from './service.ts';

/**
 * Writes a query in the caller's transaction (E2, E4). Call `launch` after the commit. `headers` hold `Retry-After` when a
 * background query met a rate limit.
 */
export async function startQuery(
  tx: AccountTx,
  { networkQueries }: { networkQueries: NetworkQueryService },
  input: {
    caller: Caller;
    patient: StoredPatient;
    request: NetworkQueryRequest;
    purposeOfUse: 'treatment' | 'ias';
    /** With purpose `ias`: the challenge with the active AAL2 session. */
    aal2ChallengeId?: string;
    /** True for a request with the header `priority: u=5` to `u=7` (RFC 9218): it yields to interactive queries. */
    background?: boolean;
  },
): Promise<{ answer: NetworkQueryStatus; headers: Record<string, string>; launch: () => void }> {
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
