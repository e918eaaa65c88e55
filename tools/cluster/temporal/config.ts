import { fileURLToPath } from 'node:url';
import { filled } from '../../../src/lib/filled.ts';
import templates from './settings.json' with { type: 'json' };

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
): unknown =>
  filled(templates.server, {
    ...ports,
    ...database,
    dynamicConfig: DYNAMIC_CONFIG,
  });

/** The configuration of the UI, which is behind our login. */
export const uiConfig = (ports: TemporalPorts): unknown =>
  filled(templates.ui, ports);
