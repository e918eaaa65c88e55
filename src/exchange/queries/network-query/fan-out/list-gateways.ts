import {
  QUERY_GATEWAY_SORT,
  type QueryGateway,
} from '../../../../contract/network-query.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import {
  type CountedPage,
  column,
  type ListOrder,
  type PageRequest,
  readCountedPage,
} from '../../../platform/database/page.ts';
import { connectionsOf } from '../../../sources/connections/connection-store.ts';
import { readGateways } from '../../../sources/connections/gateway-store.ts';

const [PLACE, ID] = QUERY_GATEWAY_SORT;
const gatewayId = column('a.gateway_id', 'uuid');

/** In the order in which they are asked. */
export const QUERY_GATEWAY_ORDER: ListOrder<
  (typeof QUERY_GATEWAY_SORT)[number]
> = {
  columns: { [PLACE]: column('a.place', 'integer'), [ID]: gatewayId },
  unique: ID,
  tieBreak: gatewayId,
  default: [{ column: PLACE, direction: 'asc' }],
};

/** A page of the gateways of the latest attempts of a query. */
export async function listGateways(
  tx: AccountTx,
  { requestId, state }: { requestId: string; state?: QueryGateway['state'] },
  request: PageRequest,
): Promise<CountedPage<QueryGateway>> {
  let matching = tx.db
    .selectFrom('gateway_ask as a')
    .where('a.query_id', '=', requestId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('network_query_attempt as later')
            .select('later.attempt')
            .whereRef('later.query_id', '=', 'a.query_id')
            .whereRef('later.source', '=', 'a.source')
            .whereRef('later.attempt', '>', 'a.attempt'),
        ),
      ),
    );
  if (state !== undefined) matching = matching.where('a.state', '=', state);
  const rows = matching
    .select(['a.gateway_id', 'a.source', 'a.attempt', 'a.home_community'])
    .select([
      'a.place as number',
      'a.because',
      'a.state',
      'a.reason',
      'a.tries',
    ])
    .select(['a.next_try_at', 'a.ended_at', 'a.connection_id']);
  const page = await readCountedPage(tx.db, rows, QUERY_GATEWAY_ORDER, request);
  const gateways = await readGateways(
    tx,
    page.items.map((row) => row.gateway_id),
  );
  const connections = new Map(
    (await connectionsOf(tx, 'hie')).map(({ id, name }) => [id, name]),
  );
  return {
    ...page,
    items: page.items.map((row) => ({
      id: row.gateway_id,
      source: row.source,
      attempt: row.attempt,
      connection: connections.get(row.connection_id),
      homeCommunity: row.home_community,
      name: gateways.get(row.gateway_id)?.name,
      place: row.number,
      because: row.because,
      state: row.state,
      reason: row.reason ?? undefined,
      tries: row.tries,
      nextTryAt: row.next_try_at?.toISOString(),
      endedAt: row.ended_at?.toISOString(),
    })),
  };
}
