import type { Store } from '../../platform/database/database.ts';
import {
  type ConnectionWarning,
  readNewestWarnings,
} from '../../queries/network-query/newest-warnings.ts';
import { listConnections } from '../../sources/connections/connection-store.ts';

/**
 * What queries of the last day have shown of the networks' gateways
 * (docs/networks.md). A connection that was changed since, as `connections
 * rotate` does, or deleted, is not named. Not part of the metrics' report: it
 * goes through a day of timelines.
 */
export const readGatewayWarnings = (
  store: Pick<Store, 'asSystem'>,
): Promise<ConnectionWarning[]> =>
  store.asSystem(async (tx) => {
    const warnings = await readNewestWarnings(tx);
    if (warnings.length === 0) return [];
    const connections = await listConnections(tx);
    const changed = new Map(
      connections.map(({ id, changedAt }) => [id, changedAt]),
    );
    return warnings.filter(({ connectionId, at }) => {
      if (connectionId === null) return true;
      const changedAt = changed.get(connectionId);
      return changedAt !== undefined && at > changedAt;
    });
  });
