import { v7 as uuidv7 } from 'uuid';
import { type Members, membersOf } from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { namespaceOf } from '../../records/rules/ids.ts';
import type { GatewayAddress } from '../connectors/ihe/network-settings.ts';

/** A gateway of a network that an account is connected to. */
export type NetworkGateway = Members<'network_gateway'>;

/**
 * The gateways of a connection under their ids, which stay the same; new ones
 * get one. In the order given.
 */
export async function rememberGateways(
  tx: AccountTx,
  connectionId: string,
  gateways: readonly (GatewayAddress & { name: string })[],
): Promise<NetworkGateway[]> {
  if (gateways.length === 0) return [];
  const rows = await tx.db
    .insertInto('network_gateway')
    .values(
      gateways.map((gateway) => {
        const id = uuidv7();
        return {
          id,
          account_id: tx.accountId,
          connection_id: connectionId,
          home_community: gateway.homeCommunity,
          name: gateway.name,
          discovery_url: gateway.discoveryUrl,
          query_url: gateway.queryUrl,
          retrieve_url: gateway.retrieveUrl,
          namespace: namespaceOf(id),
        };
      }),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['connection_id', 'home_community'])
        .doUpdateSet(({ ref }) => ({
          name: ref('excluded.name'),
          discovery_url: ref('excluded.discovery_url'),
          query_url: ref('excluded.query_url'),
          retrieve_url: ref('excluded.retrieve_url'),
        })),
    )
    .returningAll()
    .execute();
  const known = new Map(rows.map((row) => [row.home_community, row]));
  return gateways.flatMap(({ homeCommunity }) => {
    const row = known.get(homeCommunity);
    return row === undefined ? [] : [membersOf(row)];
  });
}

/** Gateways by their ids. */
export async function readGateways(
  tx: Pick<SystemTx, 'db'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, NetworkGateway>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.db
    .selectFrom('network_gateway')
    .selectAll()
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.id, membersOf(row)]));
}
