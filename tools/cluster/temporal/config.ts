import { fileURLToPath } from 'node:url';

export const TEMPORAL_SERVICES = [
  'frontend',
  'history',
  'matching',
  'worker',
] as const;
export type TemporalService = (typeof TEMPORAL_SERVICES)[number];

/**
 * Each service has a port for calls and one for the ring of the cluster's
 * members; that of the frontend's calls is `temporal`.
 */
export const TEMPORAL_PORTS = [
  'frontendMember',
  'history',
  'historyMember',
  'matching',
  'matchingMember',
  'system',
  'systemMember',
] as const;
export type TemporalPorts = Readonly<
  Record<'temporal' | 'temporalWeb' | (typeof TEMPORAL_PORTS)[number], number>
>;

export const TEMPORAL_DATABASES = {
  temporal: 'temporal',
  visibility: 'temporal_visibility',
} as const;

const DYNAMIC_CONFIG = fileURLToPath(
  new URL('../../../deploy/temporal/dynamic-config.yaml', import.meta.url),
);

/**
 * The server's configuration, the same for all services. JSON is YAML too.
 * `numHistoryShards` cannot be changed once there is data.
 */
export const serverConfig = (
  ports: TemporalPorts,
  database: { address: string; user: string; password: string },
): unknown => ({
  log: {
    stdout: true,
    level: 'warn',
    format: 'json',
  },
  global: {
    membership: {
      maxJoinDuration: '30s',
      broadcastAddress: '127.0.0.1',
    },
  },
  dcRedirectionPolicy: {
    policy: 'noop',
  },
  persistence: {
    defaultStore: 'default',
    visibilityStore: 'visibility',
    numHistoryShards: 16,
    datastores: {
      default: {
        sql: {
          pluginName: 'postgres12',
          databaseName: 'temporal',
          connectAddr: database.address,
          connectProtocol: 'tcp',
          user: database.user,
          password: database.password,
          maxConns: 8,
          maxIdleConns: 8,
          maxConnLifetime: '1h',
        },
      },
      visibility: {
        sql: {
          pluginName: 'postgres12',
          databaseName: 'temporal_visibility',
          connectAddr: database.address,
          connectProtocol: 'tcp',
          user: database.user,
          password: database.password,
          maxConns: 4,
          maxIdleConns: 4,
          maxConnLifetime: '1h',
        },
      },
    },
  },
  services: {
    frontend: {
      rpc: {
        grpcPort: ports.temporal,
        membershipPort: ports.frontendMember,
        bindOnLocalHost: true,
      },
    },
    history: {
      rpc: {
        grpcPort: ports.history,
        membershipPort: ports.historyMember,
        bindOnLocalHost: true,
      },
    },
    matching: {
      rpc: {
        grpcPort: ports.matching,
        membershipPort: ports.matchingMember,
        bindOnLocalHost: true,
      },
    },
    worker: {
      rpc: {
        grpcPort: ports.system,
        membershipPort: ports.systemMember,
        bindOnLocalHost: true,
      },
    },
  },
  clusterMetadata: {
    enableGlobalNamespace: false,
    failoverVersionIncrement: 10,
    masterClusterName: 'active',
    currentClusterName: 'active',
    clusterInformation: {
      active: {
        enabled: true,
        initialFailoverVersion: 1,
        rpcName: 'frontend',
        rpcAddress: `127.0.0.1:${ports.temporal}`,
      },
    },
  },
  publicClient: {
    hostPort: `127.0.0.1:${ports.temporal}`,
  },
  dynamicConfigClient: {
    filepath: DYNAMIC_CONFIG,
    pollInterval: '60s',
  },
});

/** The configuration of the UI, which is behind our login. */
export const uiConfig = (ports: TemporalPorts): unknown => ({
  temporalGrpcAddress: `127.0.0.1:${ports.temporal}`,
  host: '127.0.0.1',
  port: ports.temporalWeb,
  enableUi: true,
  defaultNamespace: 'default',
  disableNewsFetch: true,
});
