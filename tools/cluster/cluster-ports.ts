import { PORT_NAMES } from '../embedded/stack-ports.ts';
import { SEAWEEDFS_PORTS } from './seaweedfs/seaweedfs.ts';
import { TEMPORAL_PORTS } from './temporal/config.ts';

/** `gateway` is the proxy's port; the gateways behind it have their own. */
export const GATEWAYS = ['gateway-1', 'gateway-2'] as const;

export const CLUSTER_PORT_NAMES = [
  ...PORT_NAMES,
  ...GATEWAYS,
  ...TEMPORAL_PORTS,
  ...SEAWEEDFS_PORTS,
] as const;
export type ClusterPorts = Readonly<
  Record<(typeof CLUSTER_PORT_NAMES)[number], number>
>;
