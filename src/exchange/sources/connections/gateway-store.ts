import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { type Members, membersOf } from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { textArray, uuidArray } from '../../platform/database/pg-arrays.ts';
import { namespaceOf } from '../../records/rules/ids.ts';
import type { GatewayAddress } from '../connectors/ihe/network-settings.ts';

/** A gateway of a network that an account is connected to. */
export type NetworkGateway = Members<'network_gateway'>;

/** What the directory says of a gateway. */
type ListedGateway = GatewayAddress & { name: string };

/**
 * The gateways of a connection under their ids, which stay the same; new ones
 * get one. In the order given. Nothing is written, and so no row locked, where
 * the directory has not changed: many queries of an account begin at once.
 */
export async function rememberGateways(
  tx: AccountTx,
  connectionId: string,
  gateways: readonly ListedGateway[],
): Promise<NetworkGateway[]> {
  let known = await readOfConnection(tx, connectionId, gateways);
  const changed = gateways
    .filter((gateway) => !isAsListed(known.get(gateway.homeCommunity), gateway))
    // In one order, so that no two transactions wait for each other.
    .sort((one, other) => (one.homeCommunity < other.homeCommunity ? -1 : 1));
  if (changed.length > 0) {
    await writeGateways(tx, connectionId, changed);
    known = await readOfConnection(tx, connectionId, gateways);
  }
  return gateways.flatMap(
    ({ homeCommunity }) => known.get(homeCommunity) ?? [],
  );
}

async function readOfConnection(
  tx: AccountTx,
  connectionId: string,
  gateways: readonly ListedGateway[],
): Promise<ReadonlyMap<string, NetworkGateway>> {
  const communities = textArray(
    gateways.map(({ homeCommunity }) => homeCommunity),
  );
  const rows = await tx.db
    .selectFrom('network_gateway')
    .selectAll()
    .where('connection_id', '=', connectionId)
    .where('home_community', '=', sql<string>`any(${communities}::text[])`)
    .execute();
  return new Map(rows.map((row) => [row.home_community, membersOf(row)]));
}

const isAsListed = (
  known: NetworkGateway | undefined,
  listed: ListedGateway,
): boolean =>
  known?.name === listed.name &&
  known.discoveryUrl === listed.discoveryUrl &&
  known.queryUrl === listed.queryUrl &&
  known.retrieveUrl === listed.retrieveUrl;

/** One that another query has added meanwhile is left as it is, unless it has moved. */
async function writeGateways(
  tx: AccountTx,
  connectionId: string,
  gateways: readonly ListedGateway[],
): Promise<void> {
  const ids = gateways.map(() => uuidv7());
  const arrayOf = (member: keyof ListedGateway) =>
    textArray(gateways.map((gateway) => gateway[member]));
  const listed = sql`unnest(${uuidArray(ids)}::uuid[], ${textArray(ids.map(namespaceOf))}::text[],
    ${arrayOf('homeCommunity')}::text[], ${arrayOf('name')}::text[], ${arrayOf('discoveryUrl')}::text[],
    ${arrayOf('queryUrl')}::text[], ${arrayOf('retrieveUrl')}::text[]
  ) as listed(id, namespace, home_community, name, discovery_url, query_url, retrieve_url)`;
  await sql`
    insert into network_gateway (account_id, connection_id, id, namespace, home_community, name, discovery_url, query_url, retrieve_url)
    select ${tx.accountId}, ${connectionId}, listed.* from ${listed} on conflict do nothing`.execute(
    tx.db,
  );
  await sql`
    update network_gateway as known set name = listed.name, discovery_url = listed.discovery_url,
      query_url = listed.query_url, retrieve_url = listed.retrieve_url
    from ${listed}
    where known.connection_id = ${connectionId} and known.home_community = listed.home_community
      and (known.name, known.discovery_url, known.query_url, known.retrieve_url)
        is distinct from (listed.name, listed.discovery_url, listed.query_url, listed.retrieve_url)`.execute(
    tx.db,
  );
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
