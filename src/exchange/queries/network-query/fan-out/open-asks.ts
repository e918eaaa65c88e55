import { sql } from 'kysely';
import type { Store } from '../../../platform/database/database.ts';
import { rowsOf } from '../../../platform/database/pg-arrays.ts';
import type { GatewayCounts } from '../rules/gateway-outcome.ts';

/** The gateways of networks that running queries of all accounts ask. */
export interface OpenAsks extends GatewayCounts {
  queries: number;
  /** Due for more than five minutes, and not asked: no step has come to them. */
  late: number;
}

/** A gateway that is due for longer has been forgotten, or waits in a long line. */
export const LATE = sql`interval '5 minutes'`;

/** Undefined when no running query asks any. */
export async function readOpenAsks(
  store: Pick<Store, 'asSystem'>,
): Promise<OpenAsks | undefined> {
  const [counts] = await store.asSystem((tx) =>
    rowsOf(
      tx,
      sql<OpenAsks>`
        select count(distinct (a.query_id, a.source))::int as queries, count(*)::int as asked,
          count(*) filter (where a.state = 'found')::int as found, count(*) filter (where a.state = 'nobody')::int as nobody,
          count(*) filter (where a.state = 'failed')::int as failed,
          count(*) filter (where a.state in ('open', 'waiting'))::int as waiting,
          count(*) filter (where a.state in ('open', 'waiting')
            and coalesce(a.next_try_at, t.gateways_chosen_at) < now() - ${LATE})::int as late
        from network_query_attempt t
        join gateway_ask a on a.query_id = t.query_id and a.source = t.source and a.attempt = t.attempt
        where t.status = 'running' and t.gateways_chosen_at is not null`,
    ),
  );
  return counts === undefined || counts.asked === 0 ? undefined : counts;
}
