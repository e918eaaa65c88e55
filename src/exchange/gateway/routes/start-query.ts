import type { NetworkQueryRequest, NetworkQueryStatus } from '../../../contract/network-query.ts';
import type { AccountTx } from '../../store/database.ts';
import type { StoredPatient } from '../../store/patients.ts';
import { startedQueryAnswer } from '../answers.ts';
import type { GatewayDeps } from '../deps.ts';
import type { Caller } from '../plugins/auth.ts';

/** Writes a query in the caller's transaction (E2, E4); `launch` is for after the commit. */
export async function startQuery(
  tx: AccountTx,
  { networkQueries }: Pick<GatewayDeps, 'networkQueries'>,
  input: {
    caller: Caller;
    patient: StoredPatient;
    request: NetworkQueryRequest;
    purposeOfUse: 'treatment' | 'ias';
  },
): Promise<{ answer: NetworkQueryStatus; launch: () => void }> {
  const { account } = input.caller;
  const { patient, request, purposeOfUse } = input;
  const prepared = await networkQueries.prepareQuery(tx, {
    account,
    patient,
    request,
    purposeOfUse,
    origin: 'interactive',
  });
  const query = await networkQueries.readQuery(tx, prepared.requestId);
  if (query === undefined) throw new Error('a query that was just written is not there');
  return {
    answer: startedQueryAnswer(query, account.dialect),
    launch: () => networkQueries.launchQuery(account.id, prepared),
  };
}
