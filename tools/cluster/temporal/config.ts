import { fileURLToPath } from 'node:url';
import settings from './settings.json' with { type: 'json' };

export const TEMPORAL_SERVICES = ['frontend', 'history', 'matching', 'worker'] as const;
export type TemporalService = (typeof TEMPORAL_SERVICES)[number];

/** Each service has a port for calls and one for the ring of the cluster's members; that of the frontend's calls is `temporal`. */
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

export const TEMPORAL_DATABASES = { temporal: 'temporal', visibility: 'temporal_visibility' } as const;

const DYNAMIC_CONFIG = fileURLToPath(
  new URL('../../../deploy/temporal/dynamic-config.yaml', import.meta.url),
);
/** Cannot be changed once there is data. */
const HISTORY_SHARDS = 16;

const { clusterMetadata: CLUSTER, activeCluster: ACTIVE, ...SETTINGS } = settings;

/** The server's configuration, the same for all services. JSON is YAML too. */
export function serverConfig(
  ports: TemporalPorts,
  database: { address: string; user: string; password: string },
) {
  const store = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: database.address,
      connectProtocol: 'tcp',
      user: database.user,
      password: database.password,
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  const service = (grpcPort: number, membershipPort: number) => ({
    rpc: { grpcPort, membershipPort, bindOnLocalHost: true },
  });
  return {
    ...SETTINGS,
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: HISTORY_SHARDS,
      datastores: {
        default: store(TEMPORAL_DATABASES.temporal, 8),
        visibility: store(TEMPORAL_DATABASES.visibility, 4),
      },
    },
    services: {
      frontend: service(ports.temporal, ports.frontendMember),
      history: service(ports.history, ports.historyMember),
      matching: service(ports.matching, ports.matchingMember),
      worker: service(ports.system, ports.systemMember),
    },
    clusterMetadata: {
      ...CLUSTER,
      clusterInformation: { active: { ...ACTIVE, rpcAddress: `127.0.0.1:${ports.temporal}` } },
    },
    publicClient: { hostPort: `127.0.0.1:${ports.temporal}` },
    dynamicConfigClient: { filepath: DYNAMIC_CONFIG, pollInterval: '60s' },
  };
}

/** The configuration of the UI, which is behind our login. */
export const uiConfig = ({ temporal, temporalWeb }: TemporalPorts) => ({
  temporalGrpcAddress: `127.0.0.1:${temporal}`,
  host: '127.0.0.1',
  port: temporalWeb,
  enableUi: true,
  defaultNamespace: 'default',
  disableNewsFetch: true,
});
