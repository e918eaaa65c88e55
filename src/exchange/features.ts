import type { TaskQueueStats } from '../temporal/task-queues.ts';
import { agentsFeature } from './delivery/agents/feature.ts';
import { bulkExportFeature } from './delivery/bulk-export/feature.ts';
import { consolidatedQueryFeature } from './delivery/consolidated-query/feature.ts';
import { contributionFeature } from './delivery/contribution/feature.ts';
import { documentsFeature } from './delivery/documents/feature.ts';
import { embedFeature } from './delivery/embed/feature.ts';
import { fhirApiFeature } from './delivery/fhir-api/feature.ts';
import { fhirClientsFeature } from './delivery/fhir-tokens/feature.ts';
import { healthLinksFeature } from './delivery/health-links/feature.ts';
import { respondingGatewayFeature } from './delivery/responding-gateway/feature.ts';
import { subscriptionsFeature } from './delivery/subscriptions/feature.ts';
import { messagesFeature } from './messaging/messages/feature.ts';
import { notificationsFeature } from './messaging/notifications/feature.ts';
import { webhooksFeature } from './messaging/webhooks/feature.ts';
import { erasureFeature } from './operations/erasure/feature.ts';
import { retentionFeature } from './operations/retention/feature.ts';
import { bulkCreateFeature } from './people/bulk-create/feature.ts';
import { cohortsFeature } from './people/cohorts/feature.ts';
import { consentsFeature } from './people/consents/feature.ts';
import { facilitiesFeature } from './people/facilities/feature.ts';
import { identityFeature } from './people/identity/feature.ts';
import { monitoringFeature } from './people/monitoring/feature.ts';
import { possibleDuplicatesFeature } from './people/possible-duplicates/feature.ts';
import { patientsFeature } from './people/registration/feature.ts';
import type {
  Feature,
  GatewayScopes,
  OpenFeature,
} from './platform/feature.ts';
import type { GatewayPlatform } from './platform/http/deps.ts';
import type { Platform } from './platform/platform.ts';
import { networkQueryFeature } from './queries/network-query/feature.ts';
import { queryRedriveFeature } from './queries/redrive/feature.ts';
import { querySweepFeature } from './queries/sweep/feature.ts';
import { recordsFeature } from './records/feature.ts';
import type { Services } from './services.ts';
import { sourceConnectionsFeature } from './sources/connections/feature.ts';
import { directoryFeature } from './sources/directory/feature.ts';

/**
 * Every feature of the exchange, in the order of the API reference. To add a
 * feature, add a line here.
 */
const FEATURES = [
  patientsFeature,
  erasureFeature,
  possibleDuplicatesFeature,
  consentsFeature,
  cohortsFeature,
  facilitiesFeature,
  embedFeature,
  networkQueryFeature,
  identityFeature,
  messagesFeature,
  notificationsFeature,
  recordsFeature,
  consolidatedQueryFeature,
  contributionFeature,
  fhirApiFeature,
  agentsFeature,
  fhirClientsFeature,
  respondingGatewayFeature,
  healthLinksFeature,
  bulkExportFeature,
  subscriptionsFeature,
  documentsFeature,
  queryRedriveFeature,
  querySweepFeature,
  webhooksFeature,
  bulkCreateFeature,
  monitoringFeature,
  sourceConnectionsFeature,
  directoryFeature,
  retentionFeature,
] as const satisfies readonly Feature[];

type AnyFeature = (typeof FEATURES)[number];

/** Opens every feature in one process. */
export const openFeatures = (deps: Platform & Services): OpenFeature[] =>
  FEATURES.map((feature) => feature.open(deps));

type AllOf<Union> = (
  Union extends unknown
    ? (member: Union) => void
    : never
) extends (all: infer All) => void
  ? All
  : never;

/** The dependencies of a feature's routes. */
type RouteDepsOf<Routes> = Routes extends (
  scopes: never,
  deps: infer Deps,
) => void
  ? unknown extends Deps
    ? object
    : Deps
  : never;
/**
 * The dependencies of the gateway: those of the platform, and those of all
 * features' routes.
 */
export type GatewayDeps = GatewayPlatform & {
  /**
   * Reads what waits in the task queues, for the metrics. Default: these
   * metrics have no values.
   */
  readQueues?: () => Promise<TaskQueueStats[]>;
} & AllOf<RouteDepsOf<AnyFeature['routes']>>;

export function addFeatureRoutes(
  scopes: GatewayScopes,
  deps: GatewayDeps,
): void {
  for (const feature of FEATURES) feature.routes(scopes, deps);
}
