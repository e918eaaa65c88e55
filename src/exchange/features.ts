import type { WorkerQueue } from '../temporal/worker-queues.ts';
import { bulkCreate } from './bulk-create/feature.ts';
import { cohorts } from './cohorts/feature.ts';
import { consolidatedQuery } from './consolidated-query/feature.ts';
import { documents } from './documents/feature.ts';
import { embed } from './embed/feature.ts';
import { facilities } from './facilities/feature.ts';
import { identity } from './identity/feature.ts';
import { messages } from './messages/feature.ts';
import { monitoring } from './monitoring/feature.ts';
import { networkQuery } from './network-query/feature.ts';
import { notifications } from './notifications/feature.ts';
import { patients } from './patients/feature.ts';
import type { Feature, GatewayScopes, OpenFeature } from './platform/feature.ts';
import type { GatewayPlatform } from './platform/http/deps.ts';
import type { Platform } from './platform/platform.ts';
import type { WorkerPlatform } from './platform/worker-platform.ts';
import { querySweep } from './query-sweep/feature.ts';
import { records } from './records/feature.ts';
import { webhooks } from './webhooks/feature.ts';

/** Every feature of the exchange, in the order in which the API reference shows them. A new one is a line here. */
const FEATURES = {
  patients,
  cohorts,
  facilities,
  embed,
  networkQuery,
  identity,
  messages,
  notifications,
  records,
  consolidatedQuery,
  documents,
  querySweep,
  webhooks,
  bulkCreate,
  monitoring,
} satisfies Record<string, Feature>;

type FeatureName = keyof typeof FEATURES;

/** Opens every feature in one process; those that use another one come after it. */
export function openFeatures(platform: Platform) {
  const opened = {
    patients: patients.open(platform),
    cohorts: cohorts.open(),
    facilities: facilities.open(),
    embed: embed.open(),
    networkQuery: networkQuery.open(platform),
    identity: identity.open(),
    notifications: notifications.open(platform),
    records: records.open(platform),
    consolidatedQuery: consolidatedQuery.open(platform),
    documents: documents.open(platform),
    querySweep: querySweep.open(platform),
    webhooks: webhooks.open(platform),
    bulkCreate: bulkCreate.open(platform),
    monitoring: monitoring.open(platform),
  };
  return {
    ...opened,
    messages: messages.open(platform, opened.records.services),
  } satisfies Record<FeatureName, OpenFeature>;
}

type Opened = ReturnType<typeof openFeatures>;
type AllOf<Union> = (Union extends unknown ? (member: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
/** What the features offer to each other's routes and activities, by name. */
export type Services = AllOf<Opened[FeatureName]['services']>;

export const servicesOf = (opened: Opened): Services =>
  Object.assign({}, ...Object.values(opened).map(({ services }) => services));

/** What the routes of a feature need. */
type RouteDepsOf<Routes> = Routes extends (scopes: never, deps: infer Deps) => void
  ? unknown extends Deps
    ? object
    : Deps
  : never;
/** What a gateway is built from: what the platform needs, and what the features' routes need. */
export type GatewayDeps = GatewayPlatform &
  AllOf<{ [Name in FeatureName]: RouteDepsOf<(typeof FEATURES)[Name]['routes']> }[FeatureName]>;

export function addFeatureRoutes(scopes: GatewayScopes, deps: GatewayDeps): void {
  for (const feature of Object.values(FEATURES)) feature.routes(scopes, deps);
}

/** The activities of all features by task queue. */
export function featureActivities(deps: WorkerPlatform & Services): Partial<Record<WorkerQueue, object>> {
  const byQueue: Partial<Record<WorkerQueue, object>> = {};
  for (const feature of Object.values(FEATURES)) {
    for (const [queue, activities] of Object.entries(feature.activities(deps)) as [WorkerQueue, object][])
      byQueue[queue] = { ...byQueue[queue], ...activities };
  }
  return byQueue;
}
