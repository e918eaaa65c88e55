import { sql } from 'kysely';
import type { SourceStepInput } from '../../../../contract/network-query-workflow.ts';
import type { SystemTx } from '../../../platform/database/database.ts';
import { rowsOf } from '../../../platform/database/pg-arrays.ts';
import { LATE } from './open-asks.ts';

/** An attempt with gateways that are due, and no step that asks them. */
export interface LateAttempt extends SourceStepInput {
  /** Since when the first of them is due. */
  since: Date;
}

/**
 * Running attempts of all accounts with gateways that are late, which the newest
 * step does not hold; the longest waiting first. An attempt whose step began of
 * late, that was signalled of late, or that waits before it calls its source is
 * not among them.
 */
export const findLateAttempts = (
  tx: SystemTx,
  limit: number,
): Promise<LateAttempt[]> =>
  rowsOf(
    tx,
    sql<LateAttempt>`
      select t.account_id as "accountId", t.query_id as "requestId", t.run, t.source, t.attempt,
        min(coalesce(a.next_try_at, t.gateways_chosen_at)) as since
      from network_query_attempt t
      join gateway_ask a on a.query_id = t.query_id and a.source = t.source and a.attempt = t.attempt
      where t.status = 'running' and t.gateways_chosen_at is not null
        and coalesce(t.gateway_step_at, t.gateways_chosen_at) < now() - ${LATE}
        and (t.next_try_at is null or t.next_try_at <= now())
        and a.state in ('open', 'waiting') and a.claimed_step is distinct from t.gateway_step
        and coalesce(a.next_try_at, t.gateways_chosen_at) < now() - ${LATE}
      group by t.account_id, t.query_id, t.run, t.source, t.attempt
      order by since limit ${limit}`,
  );
