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
import { noteIncomplete } from './queries/network-query/timeline-store.ts';
import { queryRedriveFeature } from './queries/redrive/feature.ts';
import { querySweepFeature } from './queries/sweep/feature.ts';
import { recordsFeature } from './records/feature.ts';
import { sourceConnectionsFeature } from './sources/connections/feature.ts';
import { sourceHealthFeature } from './sources/health/feature.ts';

/**
 * Every feature of the exchange, in the order of the API reference. To add a
 * feature, add a line here and in `openFeatures`.
 */
const FEATURES = {
  patients: patientsFeature,
  erasure: erasureFeature,
  possibleDuplicates: possibleDuplicatesFeature,
  consents: consentsFeature,
  cohorts: cohortsFeature,
  facilities: facilitiesFeature,
  embed: embedFeature,
  sourceHealth: sourceHealthFeature,
  networkQuery: networkQueryFeature,
  identity: identityFeature,
  messages: messagesFeature,
  notifications: notificationsFeature,
  records: recordsFeature,
  consolidatedQuery: consolidatedQueryFeature,
  contribution: contributionFeature,
  fhirApi: fhirApiFeature,
  agents: agentsFeature,
  fhirClients: fhirClientsFeature,
  healthLinks: healthLinksFeature,
  bulkExport: bulkExportFeature,
  subscriptions: subscriptionsFeature,
  documents: documentsFeature,
  queryRedrive: queryRedriveFeature,
  querySweep: querySweepFeature,
  webhooks: webhooksFeature,
  bulkCreate: bulkCreateFeature,
  monitoring: monitoringFeature,
  sourceConnections: sourceConnectionsFeature,
  retention: retentionFeature,
} satisfies Record<string, Feature>;

type FeatureName = keyof typeof FEATURES;

/**
 * Opens every feature in one process. A feature that uses another one is opened
 * after it.
 */
export function openFeatures(platform: Platform) {
  const opened = {
    patients: patientsFeature.open(platform),
    erasure: erasureFeature.open(platform),
    possibleDuplicates: possibleDuplicatesFeature.open(platform),
    consents: consentsFeature.open(),
    cohorts: cohortsFeature.open(platform),
    facilities: facilitiesFeature.open(),
    embed: embedFeature.open(),
    sourceHealth: sourceHealthFeature.open(platform),
    networkQuery: networkQueryFeature.open(platform),
    identity: identityFeature.open(),
    records: recordsFeature.open(platform, { noteIncomplete }),
    consolidatedQuery: consolidatedQueryFeature.open(platform),
    fhirApi: fhirApiFeature.open(),
    agents: agentsFeature.open(),
    fhirClients: fhirClientsFeature.open(),
    healthLinks: healthLinksFeature.open(platform),
    bulkExport: bulkExportFeature.open(platform),
    subscriptions: subscriptionsFeature.open(platform),
    documents: documentsFeature.open(platform),
    queryRedrive: queryRedriveFeature.open(platform),
    querySweep: querySweepFeature.open(platform),
    webhooks: webhooksFeature.open(platform),
    bulkCreate: bulkCreateFeature.open(platform),
    monitoring: monitoringFeature.open(platform),
    retention: retentionFeature.open(platform),
    sourceConnections: sourceConnectionsFeature.open(),
  };
  return {
    ...opened,
    contribution: contributionFeature.open(platform, opened.records.services),
    messages: messagesFeature.open(platform, opened.records.services),
    notifications: notificationsFeature.open(platform, opened.records.services),
  } satisfies Record<FeatureName, OpenFeature>;
}

type Opened = ReturnType<typeof openFeatures>;
type AllOf<Union> = (
  Union extends unknown
    ? (member: Union) => void
    : never
) extends (all: infer All) => void
  ? All
  : never;
/**
 * The services of all features, by name; available to all routes and
 * activities.
 */
export type Services = AllOf<Opened[FeatureName]['services']>;

export const servicesOf = (opened: Opened): Services =>
  Object.assign({}, ...Object.values(opened).map(({ services }) => services));

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
} & AllOf<
    {
      [Name in FeatureName]: RouteDepsOf<(typeof FEATURES)[Name]['routes']>;
    }[FeatureName]
  >;

export function addFeatureRoutes(
  scopes: GatewayScopes,
  deps: GatewayDeps,
): void {
  for (const feature of Object.values(FEATURES)) feature.routes(scopes, deps);
}
